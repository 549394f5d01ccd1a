package shellrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/ownprogram"
)

// scratchPrefix begins the names of directories that may be removed when their
// host is gone.
const scratchPrefix = "haft-run-"

// A hostShell is what all commands are run with.
type hostShell struct {
	path    string // of bash
	profile string // the file with the user's functions and aliases, "" for none
	env     []string
	scratch string // a directory for files that commands need while they run
	warning error  // why there is no profile
}

// endsIn is where commands say in which directory they ended. It is apart from
// what else is in the scratch directory, which confined commands cannot write.
func endsIn(scratch string) string { return filepath.Join(scratch, "ended") }

// A preparation is the making of a hostShell. It continues when a command that
// waits for it is cancelled, since the next one needs it too.
type preparation struct {
	done  chan struct{}
	shell *hostShell
	err   error
}

// over reports whether the preparation is done and of no use: it went wrong, or
// someone has cleaned up the temporary directory since.
func (p *preparation) over() bool {
	return p.ended() && (p.err != nil || !isDir(p.shell.scratch))
}

func (p *preparation) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
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

// fallBack sets the directory if none was given.
func (s *spool) fallBack(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opts.Dir == "" {
		s.opts.Dir = dir
	}
}

// Prepare does in advance what the first command would have to wait for, mainly capturing the
// user's profile.
func (h *Host) Prepare(ctx context.Context) error {
	_, err := h.prepare(ctx)
	return err
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
