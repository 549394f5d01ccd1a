package shellrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// Options configure a Host. A nil *Options means all zero values.
type Options struct {
	Reexec   Reexec              // from Supervise; without it there is no supervisor, and only the process group of a command is ended
	Wrap     func(Runner) Runner // puts a sandbox around the runner; nil means none
	NoCgroup bool                // do not use cgroups even where they are available

	Environ  []string // the harness's environment; nil means os.Environ
	EnvNames []string // names, or prefixes with *, that commands inherit in addition to the usual ones
	EnvFile  string   // sourced before every command, relative to the directory of this process; empty means HAFT_ENV_FILE or CLAUDE_ENV_FILE of Environ

	Shell     string   // the bash to use; empty means the first in PATH outside the project
	NoProfile bool     // do not load the user's shell profile
	Project   []string // folders of the project in addition to that of this process: neither bash nor what the profile starts is taken from them

	// Hold returns the [Command.Hold] for a command that is about to start; nil means none.
	// The host closes it.
	Hold func() (*os.File, error)

	Grace time.Duration // from SIGTERM to SIGKILL when a command is ended; zero means 500 ms
	Spool *SpoolOptions

	// OnBackground, if not nil, is called when a command has been started in the background or
	// moved there, before OnEnd. It must not block.
	OnBackground func(*Task)
	// OnEnd, if not nil, is called when a background command has ended. Close waits for it, so
	// it must not block.
	OnEnd func(*Task)
}

// A Host runs the shell commands of a harness: it owns the supervisor, the
// table of tasks and the files of their outputs. It is safe for concurrent use.
// Close ends everything that still runs.
type Host struct {
	opts   Options
	base   baseRunner
	runner Runner
	spool  *spool
	env    []string

	closing chan struct{} // closed by Close

	tiers [2]atomic.Pointer[sandbox.Tier] // those that were found, without and with the network of the machine

	mu     sync.Mutex
	ready  *preparation // nil before the first command
	tasks  []*Task      // running ones, and background ones that ended, oldest first
	closed bool
	active sync.WaitGroup
}

// NewHost makes a Host. Nothing is started before the first command.
func NewHost(opts *Options) *Host {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.EnvFile == "" {
		o.EnvFile = lookup(o.Environ, "HAFT_ENV_FILE")
	}
	if o.EnvFile == "" {
		o.EnvFile = lookup(o.Environ, "CLAUDE_ENV_FILE")
	}
	if o.EnvFile != "" {
		if abs, err := filepath.Abs(o.EnvFile); err == nil { // bash looks for a bare name in PATH
			o.EnvFile = abs
		}
	}
	if o.Grace <= 0 {
		o.Grace = 500 * time.Millisecond
	}
	base := newRunner(o.Reexec, o.NoCgroup)
	h := &Host{opts: o, base: base, runner: base, spool: newSpool(o.Spool), env: Inherited(o.Environ, o.EnvNames), closing: make(chan struct{})}
	if o.Wrap != nil {
		h.runner = o.Wrap(base)
	}
	return h
}

// Runner returns the Runner that the host starts processes with, for programs that are not
// shell commands. Close ends those programs too.
func (h *Host) Runner() Runner { return h.runner }

// Tier tries out how strongly commands with the given network can be confined here. The first
// call starts the process that confines them.
func (h *Host) Tier(n sandbox.Network) sandbox.Tier {
	t := h.base.tier(n)
	h.known(n).Store(&t)
	return t
}

// Holds tries out whether commands can be kept from single files here, with a thin
// [sandbox.Spec]. The first call starts the process that does.
func (h *Host) Holds() bool { return h.base.holds() }

// KnownTier returns what [Host.Tier] found, or false if it has not been called yet. It does not
// wait.
func (h *Host) KnownTier(n sandbox.Network) (sandbox.Tier, bool) {
	if t := h.known(n).Load(); t != nil {
		return *t, true
	}
	return sandbox.Tier{}, false
}

func (h *Host) known(n sandbox.Network) *atomic.Pointer[sandbox.Tier] {
	if n == sandbox.Open {
		return &h.tiers[1]
	}
	return &h.tiers[0]
}

// open starts the process of a task and puts the task into the table.
func (h *Host) open(t *Task, c Command) error {
	if err := h.admit(); err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		h.active.Done()
		return fmt.Errorf("make a pipe for command output: %w", err)
	}
	defer write.Close()
	c.Output = write
	if t.proc, err = h.launch(c); err != nil {
		read.Close()
		h.active.Done()
		return err
	}
	t.pipe, t.output = read, newOutput(t.id, h.spool, t.background)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks = append(h.tasks, t)
	if h.closed {
		t.stop(Stopped)
	}
	return nil
}

// launch starts a command with what is to be held until its end.
func (h *Host) launch(c Command) (Process, error) {
	if h.opts.Hold != nil {
		var err error
		if c.Hold, err = h.opts.Hold(); err != nil {
			return nil, fmt.Errorf("hold a file for a command: %w", err)
		}
	}
	if c.Hold != nil {
		defer c.Hold.Close()
	}
	return h.runner.Start(c)
}

var errClosed = errors.New("run a command: the host is closed")

// admit counts one more task, unless the host is closed.
func (h *Host) admit() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed
	}
	h.active.Add(1)
	return nil
}

// Tasks lists the running commands and the background ones that ended, oldest
// first.
func (h *Host) Tasks() []*Task {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.tasks)
}

// Task finds a task by its id.
func (h *Host) Task(id string) (*Task, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.tasks, func(t *Task) bool { return t.id == id })
	if i < 0 {
		return nil, false
	}
	return h.tasks[i], true
}

// Close ends all commands with their descendants and waits until they are gone. It keeps
// output files if [SpoolOptions] named a directory for them.
func (h *Host) Close() error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.closing)
	}
	running, ready := slices.Clone(h.tasks), h.ready
	h.mu.Unlock()
	for _, t := range running {
		t.stop(Stopped)
	}
	h.active.Wait()
	err := h.base.Close()
	if ready != nil {
		<-ready.done
		err = errors.Join(err, ready.discard())
	}
	return err
}

// prepare returns what commands are run with, made once.
func (h *Host) prepare(ctx context.Context) (*hostShell, error) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, errClosed
	}
	if h.ready == nil || h.ready.over() {
		h.ready = &preparation{done: make(chan struct{})}
		go h.complete(h.ready)
	}
	p := h.ready
	h.mu.Unlock()
	select {
	case <-p.done:
	case <-ctx.Done():
		if !p.ended() { // however short the time is, what is ready is not waited for
			return nil, fmt.Errorf("wait for the user's shell profile: %w", ctx.Err())
		}
	}
	return p.shell, p.err
}

func (h *Host) complete(p *preparation) {
	defer close(p.done)
	p.shell, p.err = h.newShell()
}

// newShell finds the shell and captures the user's profile.
func (h *Host) newShell() (*hostShell, error) {
	path := h.opts.Shell
	if path == "" {
		var err error
		if path, err = ownprogram.Find("bash", h.opts.Project...); err != nil {
			return nil, errors.New("bash was not found in PATH outside the project: install it")
		}
	}
	scratch, err := os.MkdirTemp("", scratchPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a directory for running commands: %w", err)
	}
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return nil, fmt.Errorf("make a directory for running commands: %w", err)
	}
	if err := os.Mkdir(endsIn(scratch), 0o700); err != nil {
		return nil, fmt.Errorf("make a directory for running commands: %w", err)
	}
	h.base.tidy(scratch)
	h.spool.fallBack(scratch)
	s := &hostShell{path: path, env: h.env, scratch: scratch}
	if !h.opts.NoProfile {
		// Not through a sandbox: the start-up files are the user's own.
		var p profile
		// They and what they start must not be the project's, which commands may use.
		own := replace(h.env, "PATH", ownprogram.Path(lookup(h.env, "PATH"), h.opts.Project...))
		p, s.warning = captureProfile(h.base, path, own, scratch, h.closing)
		s.profile, s.env = p.path, replace(h.env, "PATH", mergePaths(lookup(h.env, "PATH"), p.PATH))
	}
	return s, nil
}

// Warning says why the user's shell profile could not be captured, in which case commands run
// without it. It is nil if the profile was captured or no command has run yet.
func (h *Host) Warning() error {
	h.mu.Lock()
	p := h.ready
	h.mu.Unlock()
	if p == nil || !p.ended() || p.shell == nil {
		return nil
	}
	return p.shell.warning
}

const profileTime = 10 * time.Second

// dump prints PATH, then in records of their own each function, after a line
// with its name and the file that defines it, and the aliases.
const dump = `shopt -s extdebug
{
printf '%s\n' "$PATH"
for f in $(compgen -A function); do printf '\036'; declare -F "$f"; declare -f "$f"; done
printf '\036\n'; alias -p
} >|"$1"
exit 0`

// captureProfile runs the user's shell once, as an interactive one, and keeps
// what it knows, unless stop is closed before. env is the environment of
// commands.
func captureProfile(r Runner, shell string, env []string, dir string, stop <-chan struct{}) (profile, error) {
	p := profile{PATH: lookup(env, "PATH")}
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return p, err
	}
	defer out.Close()
	raw := filepath.Join(dir, "profile.raw")
	defer os.Remove(raw)
	home := lookup(env, "HOME")
	if info, err := os.Stat(home); err != nil || !info.IsDir() { // as in many containers
		home = "/"
	}
	args := []string{"bash", "-i", "-c", dump, "bash", raw}
	proc, err := r.Start(Command{Path: shell, Args: args, Env: env, Dir: home, Output: out})
	if err != nil {
		return p, fmt.Errorf("capture the shell profile: %w", err)
	}
	select {
	case <-proc.Done():
	case <-stop:
		proc.End(0)
		<-proc.Done()
		return p, errClosed
	case <-time.After(profileTime):
		proc.End(0)
		<-proc.Done()
		return p, fmt.Errorf("capture the shell profile: it did not finish within %v", profileTime)
	}
	data, err := os.ReadFile(raw)
	if err != nil {
		return p, fmt.Errorf("capture the shell profile: %w", err)
	}
	return p.keep(string(data), dir)
}

// Find returns the first of the named programs that exists in the commands' PATH, which comes
// from the user's shell profile. Absolute names are checked as they are.
func (h *Host) Find(ctx context.Context, names ...string) (string, error) {
	shell, err := h.prepare(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if filepath.IsAbs(name) {
			if path, err := exec.LookPath(name); err == nil {
				return path, nil
			}
			continue
		}
		for _, dir := range filepath.SplitList(lookup(shell.env, "PATH")) {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w", names[0], ErrNotFound)
}

// Start starts a program that runs beside the commands, such as an interpreter, with their
// environment; variables in c.Env add to it or replace its own. Like a command, the program is
// ended, with everything it started, by Close and when the harness is killed.
func (h *Host) Start(ctx context.Context, c Command) (Process, error) {
	shell, err := h.prepare(ctx)
	if err != nil {
		return nil, err
	}
	c.Env = replaceAll(shell.env, c.Env)
	return h.launch(c)
}

// NewOutput makes an Output for another program, with a file beside those of the commands once
// it needs one. Close it when nothing more will be written.
func (h *Host) NewOutput() *Output { return newOutput(newID(), h.spool, false) }

// NewShell makes a Shell that starts in dir, an absolute path, and returns to it when its
// current directory no longer exists. When dir itself is gone, no command is started.
func (h *Host) NewShell(dir string) *Shell {
	return &Shell{host: h, home: dir, dir: dir}
}

// openProgram starts a command by its words, with what bash would add to its environment. It
// reports false if there are none, or if it did not start: then bash is to say why, or knows
// what to do with a file that the kernel does not run.
func (h *Host) openProgram(t *Task, c Command, words []string) bool {
	if len(words) == 0 || slices.ContainsFunc(c.Env, changesShell) {
		return false
	}
	path, ok := program(words[0], lookup(c.Env, "PATH"))
	if !ok {
		return false
	}
	level, _ := strconv.Atoi(lookup(c.Env, "SHLVL"))
	added := []string{"SHLVL=" + strconv.Itoa(level+1), "_=" + path}
	c.Path, c.Args, c.Env = path, words, replaceAll(nil, slices.Concat(c.Env, added)) // each name once
	return h.open(t, c) == nil
}

// program finds the file that bash would run by a name. It reports false if there is none, and if that depends on the
// directory in which the command starts.
func program(name, path string) (file string, ok bool) {
	if strings.Contains(name, "/") {
		_, err := exec.LookPath(name)
		return name, err == nil && filepath.IsAbs(name)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			return "", false
		}
		file = strings.TrimSuffix(dir, "/") + "/" + name // not cleaned: what is before .. may be a link
		if _, err := exec.LookPath(file); err == nil {
			return file, true
		}
	}
	return "", false
}

// changesShell reports whether a variable is a function of bash or an option, so that a word
// may mean another thing than the program of its name.
func changesShell(entry string) bool {
	name, value, _ := strings.Cut(entry, "=")
	return strings.HasPrefix(name, "BASH_FUNC_") || value != "" && slices.Contains([]string{"SHELLOPTS", "BASHOPTS", "BASH_ENV", "EXECIGNORE"}, name)
}

// ended takes a foreground task out of the table, and the oldest ended ones
// when there are too many.
func (h *Host) ended(t *Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	over := -maxEnded
	for _, other := range h.tasks {
		if other != t && other.Ended() {
			over++
		}
	}
	h.tasks = slices.DeleteFunc(h.tasks, func(other *Task) bool {
		if other == t {
			return !t.Background()
		}
		if over > 0 && other.Ended() {
			over--
			return true
		}
		return false
	})
}

// maxEnded is how many ended background tasks stay in the table.
const maxEnded = 100
