package shellrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A Request is one command to run.
type Request struct {
	Command     string
	Description string        // for people
	Tag         string        // for the caller: what it likes to know again when the task ends
	Timeout     time.Duration // zero means none

	// Plain runs the command with these variables beside the usual ones, and
	// without the user's profile and env file, which could change them or what
	// its words mean; nil means an ordinary command.
	Plain []string

	// Detach moves a command that outlives its Timeout to the background, where
	// it may run on, instead of ending it.
	Detach bool

	// OnProgress is called each second while the caller waits; nil means nobody
	// watches.
	OnProgress func(Progress)
}

// A Shell runs the commands of one agent: each starts in the directory where
// the last one ended. Commands may run at the same time.
type Shell struct {
	host *Host
	home string

	mu  sync.Mutex
	dir string
}

// NewShell makes a Shell that starts in dir, an absolute path, and returns
// there when its directory is gone.
func (h *Host) NewShell(dir string) *Shell {
	return &Shell{host: h, home: dir, dir: dir}
}

// Dir is the directory in which the next command starts.
func (s *Shell) Dir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// Close ends all commands that were started here, in the background too, and
// waits for it. It is for the end of an agent; Host.Close ends the commands of
// every Shell.
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

// Run runs a command until it ends, or until it was moved to the background:
// then the task is not Ended. The end of ctx ends the command. An error means
// that nothing was started.
func (s *Shell) Run(ctx context.Context, r Request) (*Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := s.start(r, false)
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
		case <-ctx.Done():
			t.stop(Cancelled)
			<-t.done
			return t, nil
		case <-expired:
			if r.Detach && t.detach() {
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

// Start starts a command in the background and returns at once. Its Timeout, if
// any, ends it there; Detach and OnProgress mean nothing.
func (s *Shell) Start(r Request) (*Task, error) {
	t, err := s.start(r, true)
	if err != nil || r.Timeout <= 0 {
		return t, err
	}
	timer := time.AfterFunc(r.Timeout, func() { t.stop(TimedOut) })
	go func() {
		<-t.done
		timer.Stop()
	}()
	return t, nil
}

func (s *Shell) start(r Request, background bool) (*Task, error) {
	h := s.host
	shell, err := h.prepare()
	if err != nil {
		return nil, err
	}
	dir, healed, err := s.enter()
	if err != nil {
		return nil, err
	}
	t := &Task{
		id: newID(), command: r.Command, about: r.Description, tag: r.Tag, host: h, shell: s, background: background,
		state: Exited, done: make(chan struct{}), started: time.Now(),
	}
	dirFile, longFile := filepath.Join(shell.scratch, t.id+".dir"), filepath.Join(shell.scratch, t.id+".sh")
	profile, envFile := shell.profile, h.opts.EnvFile
	env := replace(shell.env, "PWD", dir)
	if r.Plain != nil {
		profile, envFile = "", ""
		for _, kv := range r.Plain {
			name, value, _ := strings.Cut(kv, "=")
			env = replace(env, name, value)
		}
	}
	args, err := shellArgs(prelude(profile, envFile, dir, dirFile), r.Command, longFile)
	if err != nil {
		return nil, err
	}
	if err := h.open(t, Command{Path: shell.path, Args: args, Env: env, Dir: dir}); err != nil {
		return nil, err
	}
	go t.watch(func(result *Result) {
		os.Remove(longFile)
		result.DirHealed = healed
		s.leave(dir, dirFile, result)
	})
	return t, nil
}

// enter returns the directory to start in: the shell's, or, when that is gone,
// its first one or the nearest directory above it that is there.
func (s *Shell) enter() (dir, healed string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isDir(s.dir) {
		return s.dir, "", nil
	}
	lost := s.dir
	dir = s.home
	for !isDir(dir) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", "", fmt.Errorf("run a command: neither %s nor any directory above %s can be entered", lost, s.home)
		}
		dir = parent
	}
	s.dir = dir
	return dir, lost, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// leave takes over the directory in which a command that started in dir ended.
func (s *Shell) leave(dir, dirFile string, r *Result) {
	to, told := readDir(dirFile)
	s.mu.Lock()
	defer s.mu.Unlock()
	if to != "" && to != dir {
		s.dir, r.DirChanged = to, true
	}
	r.DirLost = told && to == ""
	r.Dir = s.dir
}
