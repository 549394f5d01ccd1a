package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// When a process is killed, its commands live on for a moment until their keeper has
// stopped them. What they did can be determined only when they are gone. So a session has a
// second lock, which the process that writes to it shares with its commands: if the first
// lock is free and the second is not, they are still being stopped.

const (
	holdName = "commands"
	// holdTime is how long to wait for commands that are being stopped. That takes at most
	// two seconds, unless the process that stops them was suspended.
	holdTime = 10 * time.Second
	holdPoll = 5 * time.Millisecond
)

// errHeld is what waiting for commands ends with at last.
var errHeld = errors.New("commands of an earlier process are still running")

// hold locks the file that the session shares with its commands, once those of an earlier
// process are gone, and returns how long that took.
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
