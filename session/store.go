package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// CreateOptions say how a session begins.
type CreateOptions struct {
	// ID names it, a UUID; "" chooses one.
	ID string
	// Cwd is the working directory, by which the session is found again; "" means the
	// process's.
	Cwd string
	// Version and GitBranch are recorded for readers; "" leaves them out.
	Version, GitBranch string
}

func directory(cwd string) (string, error) {
	if cwd == "" {
		return os.Getwd()
	}
	return filepath.Abs(cwd)
}

func newSession(path string, o origin, fresh bool) *Session {
	return &Session{
		id: idOf(path), path: path, dir: dirOf(path), origin: o,
		restored: newRestored(),
		blobs:    blobsIn(filepath.Dir(path)),
		streams:  map[string]*stream{"": {log: &journal{path: path, fresh: fresh}}},
		uses:     map[string]pendingCall{},
	}
}

// ResumeOptions say how a session continues.
type ResumeOptions struct {
	// At is the UUID of the message to continue after; "" means the last one.
	At string
	// Drops is the UUID of a prompt: with At, only the turn of this prompt may be left out; if
	// more would be, the error is [ErrDrops]. "" means that anything may be left out.
	Drops string
	// Fork leaves the session as it is and continues in a new one, named by NewID; ""
	// chooses a name.
	Fork  bool
	NewID string
	// Cwd is the working directory from now on; "" means the old one. A fork is found
	// there.
	Cwd string
	// Version and GitBranch are as in [CreateOptions].
	Version, GitBranch string
}

func resume(ctx context.Context, path string, o *ResumeOptions) (*Session, error) {
	if o.At != "" {
		r, err := read(ctx, path, "", o.At)
		if err != nil {
			return nil, err
		}
		return r.session(ctx, path, o)
	}
	r, err := readOn(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return r.session(ctx, path, o)
}

// quiet waits for the commands of a process that is gone, for a caller that leaves the
// session as it is and continues elsewhere. If the commands never end, that is still
// possible, so it is not an error.
func quiet(ctx context.Context, dir string) error {
	host, _ := os.Hostname()
	if !gone(dir, host) {
		return nil
	}
	f, _, err := hold(ctx, dir, holdTime)
	if errors.Is(err, errHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(unhold(f), f.Close())
}
