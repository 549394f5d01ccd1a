package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Commands may outlive a process that is killed, by the moment that their keeper
// needs to end them. What is not known of them can only be found out
// when they are gone. So a session has a second lock, which the process that
// writes to it shares with its commands: while the first one is free and the second
// is not, they are dying.

// Hold returns a file for a process that starts others for the session and may outlive
// this one. As long as it is open there, a resume waits. The caller closes its
// own. It is nil where nothing has to wait: the session is not written down, or
// was not begun, or files cannot be locked here.
func (s *Session) Hold() (*os.File, error) {
	if s.silent() {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil || s.closed {
		return nil, nil
	}
	return share(s.lock.hold)
}

const (
	holdName = "commands"
	// holdTime is how long dying commands are waited for. They are ended within two
	// seconds, unless the process that ends them was stopped.
	holdTime = 10 * time.Second
	holdPoll = 5 * time.Millisecond
)

// errHeld is what waiting for commands ends with at last.
var errHeld = errors.New("commands of an earlier process still run")

// hold locks the file that the session shares with its commands, when those of an
// earlier process are gone, and returns how long they took.
func hold(ctx context.Context, dir string, most time.Duration) (f *os.File, waited time.Duration, err error) {
	f, err = os.OpenFile(filepath.Join(dir, holdName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	for {
		ok, err := tryHold(f)
		switch waited = time.Since(begin); {
		case ok:
			return f, waited, nil
		case err == nil && waited > most:
			err = errHeld
		}
		if err == nil {
			err = pause(ctx, holdPoll)
		}
		if err != nil {
			return nil, waited, errors.Join(err, f.Close())
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
