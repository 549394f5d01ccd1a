package shellrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/sandbox"
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

func newSpool(opts *SpoolOptions) *spool {
	var o SpoolOptions
	if opts != nil {
		o = *opts
	}
	if o.Task <= 0 {
		o.Task = 64 << 20
	}
	if o.Total <= 0 {
		o.Total = 1 << 30
	}
	if o.Keep <= 0 {
		o.Keep = 7 * 24 * time.Hour
	}
	return &spool{opts: o}
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

// newOutput makes an Output. With eager set the file is made at once, so that
// others can follow it.
func newOutput(name string, s *spool, eager bool) *Output {
	o := &Output{name: name, spool: s}
	if eager {
		o.openFileLocked()
	}
	return o
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

func (p *preparation) discard() error {
	if p.shell == nil {
		return nil
	}
	return os.RemoveAll(p.shell.scratch)
}
