package shellrun

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// A Request is one command to run.
type Request struct {
	Command     string
	Description string        // for people
	Tag         string        // for the caller, to recognise the task when it ends
	Owner       string        // for the caller, to know whose command it is
	Timeout     time.Duration // zero means none

	// Plain is called with the directory in which the command is about to start. If it returns
	// a non-nil env, the command runs with these variables in addition to the usual ones (an
	// entry that is only a name removes that variable), and without the user's profile and env
	// file, which could change the variables or the meaning of the command's words. A nil env,
	// or a nil Plain, means an ordinary command.
	//
	// The words are those of a command that only starts one program and means the same without
	// a shell, which takes longer to start than most programs. They are nil for any other
	// command. If the program cannot be started, the shell is run to report the error.
	Plain func(dir string) (env, words []string)

	// Box confines the command; nil means no confinement. See [Command].
	Box *sandbox.Spec

	// Detach moves a command that exceeds its Timeout to the background instead of ending it.
	// There it may run for another DetachFor; 0 means without a limit.
	Detach    bool
	DetachFor time.Duration
	// Foreground keeps the command from being moved to the background by anyone.
	Foreground bool

	// OnProgress, if not nil, is called every second while the caller waits.
	OnProgress func(Progress)
}

// A Shell runs the commands of one agent: each starts in the directory where the last one
// ended. Commands may run at the same time: if several change the directory, the one that
// started last decides. A background command changes only its own directory.
type Shell struct {
	host *Host
	home string

	mu      sync.Mutex
	dir     string
	entered uint64 // how many commands have started
	movedBy uint64 // the number of the one that dir is from
}

// A visit is the stay of one command in the directory that it started in.
type visit struct {
	number uint64
	dir    string
	healed string // the directory that was gone, so that dir was taken instead
}

// Dir is the directory in which the next command starts.
func (s *Shell) Dir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// Move makes the next command start in dir, an absolute path, whatever directory the running
// commands change to.
func (s *Shell) Move(dir string) error {
	if !enterable(dir) {
		return fmt.Errorf("cannot enter %s", dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir, s.movedBy = dir, s.entered
	return nil
}

// Settle makes home the folder to which this Shell returns, as if it had been made with it, and
// makes the next command start in dir. Both are absolute paths.
func (s *Shell) Settle(home, dir string) error {
	if err := s.Move(dir); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home = home
	return nil
}

// Close ends all commands of this Shell, including background ones, and waits until they are
// gone. Call it when an agent ends; Host.Close ends the commands of every Shell.
func (s *Shell) Close() {
	var own []*Task
	for _, t := range s.host.Tasks() {
		if t.shell == s {
			own = append(own, t)
		}
	}
	for _, t := range own {
		t.stop(Stopped)
	}
	for _, t := range own {
		<-t.done
	}
}

const progressEvery = time.Second

// Run runs a command until it ends or is moved to the background, in which case the task has
// not Ended. Cancelling ctx ends the command. An error means that nothing was started.
func (s *Shell) Run(ctx context.Context, r Request) (*Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := s.start(ctx, r, false)
	if err != nil {
		return nil, err
	}
	var expired, second <-chan time.Time
	if r.Timeout > 0 {
		timer := time.NewTimer(r.Timeout)
		defer timer.Stop()
		expired = timer.C
	}
	if r.OnProgress != nil {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		second = ticker.C
	}
	for {
		select {
		case <-t.done:
			return t, nil
		case <-t.released:
			return t, nil
		case <-ctx.Done():
			t.stop(Cancelled)
			<-t.done
			return t, nil
		case <-expired:
			if r.Detach && t.detach() {
				t.stopAfter(r.DetachFor)
				return t, nil
			}
			if t.Background() { // someone was faster
				<-t.released
				return t, nil
			}
			t.stop(TimedOut)
			<-t.done
			return t, nil
		case <-second:
			r.OnProgress(t.Progress())
		}
	}
}

// Start starts a command in the background and returns at once. Its Timeout, if any, applies;
// Detach and OnProgress are ignored. Cancelling ctx can keep the command from starting, but
// does not end it.
func (s *Shell) Start(ctx context.Context, r Request) (*Task, error) {
	t, err := s.start(ctx, r, true)
	if err == nil {
		t.stopAfter(r.Timeout)
	}
	return t, err
}

func (s *Shell) start(ctx context.Context, r Request, background bool) (*Task, error) {
	h := s.host
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	shell, err := h.prepare(ctx)
	if err != nil {
		return nil, err
	}
	v, err := s.enter()
	if err != nil {
		return nil, err
	}
	t := &Task{
		id: newID(), command: r.Command, about: r.Description, tag: r.Tag, owner: r.Owner, host: h, shell: s, background: background, foreground: r.Foreground,
		state: Exited, done: make(chan struct{}), released: make(chan struct{}), started: time.Now(),
	}
	dirFile, longFile := filepath.Join(endsIn(shell.scratch), t.id+".dir"), filepath.Join(shell.scratch, t.id+".sh")
	c := Command{Path: shell.path, Env: replace(shell.env, "PWD", v.dir), Dir: v.dir, Box: r.Box, Expendable: true}
	profile, envFile := shell.profile, h.opts.EnvFile
	var words []string
	if r.Plain != nil {
		var plain []string
		if plain, words = r.Plain(v.dir); plain != nil {
			profile, envFile = "", ""
			c.Env = replaceAll(c.Env, plain)
		} else {
			words = nil
		}
	}
	if !h.openProgram(t, c, words) {
		if c.Args, err = shellArgs(prelude(profile, envFile, v.dir, dirFile), r.Command, longFile); err != nil {
			return nil, err
		}
		if err := h.open(t, c); err != nil {
			return nil, err
		}
	}
	if background {
		t.moved()
	}
	go t.watch(func(result *Result, background bool) {
		os.Remove(longFile)
		to, told := readDir(dirFile)
		if background {
			to, told = "", false
		}
		s.leave(v, to, result)
		result.DirLost = told && to == ""
	})
	return t, nil
}

// shellArgs makes the arguments of the shell for a command. The command is an
// argument of its own and is run by eval, so that its text needs no quoting and
// its aliases are known when it is read. One too long for an argument goes by
// file.
func shellArgs(prelude, command, file string) ([]string, error) {
	const evaluate = `; set --; eval "$__haft"`
	if len(command) <= maxArg {
		return []string{"bash", "-c", prelude + "__haft=$1" + evaluate, "bash", command}, nil
	}
	if err := os.WriteFile(file, []byte(command), 0o600); err != nil {
		return nil, fmt.Errorf("save a long command: %w", err)
	}
	return []string{"bash", "-c", prelude + "__haft=$(<" + quote(file) + ")" + evaluate, "bash"}, nil
}

// maxArg is below what Linux takes as one argument (128 KB with its
// terminator).
const maxArg = 120 << 10

// prelude is what the shell does before a command that starts in dir: it loads
// the profile and the env file, and sets a trap that tells the directory it
// ended in, if that is another, in dirFile. The trap runs however the command
// ends; a command that sets its own exit trap, or replaces the shell, keeps its
// directory to itself.
func prelude(profile, envFile, dir, dirFile string) string {
	var b strings.Builder // one line, so that bash counts the lines of the command from 1
	if profile != "" {
		b.WriteString(". " + quote(profile) + " 2>/dev/null; ")
	}
	if envFile != "" {
		b.WriteString("if [ -r " + quote(envFile) + " ]; then " + source(envFile, dir) + "fi; ")
	}
	b.WriteString("trap " + quote("[[ $PWD == "+quote(dir)+" ]] || builtin pwd -P 2>/dev/null >|"+quote(dirFile)) + " EXIT; ")
	return b.String()
}

// newID makes a task id: short enough for a model to repeat, random enough to
// be no other's.
func newID() string {
	return "b" + strings.ToLower(rand.Text()[:8])
}

// A GoneError says that the folder a Shell belongs to is gone, so that no command was started.
type GoneError struct{ Dir string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("the folder %s no longer exists or cannot be entered", e.Dir)
}

// Gone returns a [*GoneError] if no command can be started because the folder of this Shell is
// gone, otherwise nil.
func (s *Shell) Gone() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if enterable(s.home) {
		return nil
	}
	return &GoneError{s.home}
}

// enter returns the directory to start in: the shell's, or its home when that is gone. It never
// is a directory that nobody chose: what is meant for the project, such as rm -rf *, would then
// happen to what lies beside it.
func (s *Shell) enter() (visit, error) {
	if err := s.Gone(); err != nil {
		return visit{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entered++
	v := visit{number: s.entered, dir: s.dir}
	if !enterable(s.dir) {
		v.dir, v.healed = s.home, s.dir
		s.dir = s.home
	}
	return v, nil
}

// leave takes over the directory that a command went to, "" for none.
func (s *Shell) leave(v visit, to string, r *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to != "" && to != v.dir && v.number > s.movedBy {
		s.dir, s.movedBy, r.DirChanged = to, v.number, true
	}
	r.Dir, r.DirHealed = s.dir, v.healed
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
