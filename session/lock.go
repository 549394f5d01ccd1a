package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/haftdev/haft/internal/sys/regular"
)

// A lock is held by the process that writes to a session. It ends with that process.
type lock struct {
	file   *flock.Flock
	hold   *os.File      // locked, too; see [Session.Hold]
	waited time.Duration // for commands of an earlier process
}

// owner describes the holder of a lock, for the error message of a second process.
type owner struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// An InUseError means that another program is writing to the session.
type InUseError struct {
	ID   string
	PID  int
	Host string // "" if it is this machine
	// Hold is the file that commands of the process still have open although the process
	// itself has ended; "" if it has not.
	Hold string
}

func (e *InUseError) Error() string {
	who := fmt.Sprintf("process %d", e.PID)
	if e.Hold != "" {
		return fmt.Sprintf("commands of session %s are still running although %s was killed; end the processes that have %s open, or continue in a copy with --fork-session", e.ID, who, e.Hold)
	}
	switch {
	case e.PID == 0:
		who = "another process"
	case e.Host != "":
		who += " on " + e.Host
	case e.PID == os.Getpid():
		who = fmt.Sprintf("this process (%d)", e.PID)
	}
	return fmt.Sprintf("session %s is in use by %s; watch and control it with 'haft attach %s', end that process, or continue in a copy with --fork-session", e.ID, who, e.ID)
}

// turnTime is how long one that continues a session waits for another that is about to put it
// down: programs start the next process as soon as they have read a result.
const turnTime = 2 * time.Second

// acquireSoon is acquire for one that can wait for a moment.
func acquireSoon(ctx context.Context, dir, id string) (*lock, error) {
	for begin := time.Now(); ; {
		l, err := acquire(ctx, dir, id)
		var busy *InUseError
		if !errors.As(err, &busy) || busy.Hold != "" || busy.PID == os.Getpid() || time.Since(begin) > turnTime {
			return l, err
		}
		if pause(ctx, holdPoll) != nil {
			return nil, err
		}
	}
}

// acquire locks the session whose folder is dir.
func acquire(ctx context.Context, dir, id string) (*lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock session: %w", err)
	}
	l := &lock{file: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))}
	host, _ := os.Hostname() // without one, only the pid is reported
	ok, err := l.take(dir, host)
	if err != nil {
		return nil, fmt.Errorf("lock session: %w", err)
	}
	if !ok {
		return nil, inUse(dir, id, host)
	}
	if l.hold, l.waited, err = hold(ctx, dir, holdTime); errors.Is(err, errHeld) {
		l.release()
		return nil, held(dir, id)
	}
	if err == nil {
		err = own(dir, host)
	}
	if err != nil {
		l.release()
		return nil, fmt.Errorf("lock session: %w", err)
	}
	return l, nil
}

// own records the holder of the lock.
func own(dir, host string) error {
	raw, err := json.Marshal(owner{PID: os.Getpid(), Host: host, Since: time.Now()})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "owner"), raw, 0o600)
}

// handover is how long to wait for the lock of a process that is gone. If it was killed
// while it was starting another process, that one has the lock until its exec.
const handover = time.Second

func (l *lock) take(dir, host string) (bool, error) {
	ok, err := l.file.TryLock()
	if ok || err != nil || !gone(dir, host) {
		return ok, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), handover)
	defer cancel()
	ok, err = l.file.TryLockContext(ctx, 5*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return ok, err
}

// gone reports whether the owner is known to have ended.
func gone(dir, host string) bool {
	o, ok := readOwner(dir)
	if !ok || o.Host != host {
		return false
	}
	p, err := os.FindProcess(o.PID)
	return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func readOwner(dir string) (o owner, ok bool) {
	raw, err := regular.Read(filepath.Join(dir, "owner"), maxOwner)
	return o, err == nil && json.Unmarshal(raw, &o) == nil
}

// inUse says who has the session, if that is known.
func inUse(dir, id, host string) error {
	o, ok := readOwner(dir)
	if !ok {
		return &InUseError{ID: id}
	}
	if o.Host == host {
		o.Host = ""
	}
	return &InUseError{ID: id, PID: o.PID, Host: o.Host}
}

// held says whose commands are waited for in vain.
func held(dir, id string) error {
	o, _ := readOwner(dir) // without one, 0 is reported
	return &InUseError{ID: id, PID: o.PID, Hold: filepath.Join(dir, holdName)}
}

func (l *lock) release() error {
	if l == nil {
		return nil
	}
	var err error
	if l.hold != nil {
		err = errors.Join(unhold(l.hold), l.hold.Close())
	}
	return errors.Join(err, l.file.Unlock())
}

const maxOwner = 4096 // bytes
