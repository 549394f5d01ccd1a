package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// A rest is a session that is open but not worked on: another process may continue it. Then
// this one is fenced off.
type rest struct {
	size int64 // of the main conversation's file
}

// PutDown lets other processes continue the session until TakeUp. What is appended meanwhile is
// written all the same, unless another process has continued.
func (s *Session) PutDown() error {
	if s.silent() || s.logs != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil || s.rest != nil || s.closed {
		return nil
	}
	err := s.flush(context.Background())
	s.rest = new(rest)
	return errors.Join(err, s.unlock())
}

// TakeUp makes this process the only one that continues the session. The error is [ErrFenced] if
// another has done so since PutDown, and an [InUseError] if it is about to.
func (s *Session) TakeUp(ctx context.Context) error {
	if s.silent() || s.logs != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fenced != nil {
		return s.fenced
	}
	if s.rest == nil || s.closed {
		return nil
	}
	err := s.relock(ctx, acquireSoon)
	if err == nil {
		s.rest = nil
	}
	return err
}

// relock locks a session that rests, if nobody has continued it.
func (s *Session) relock(ctx context.Context, acquire func(ctx context.Context, dir, id string) (*lock, error)) error {
	l, err := acquire(ctx, s.Dir(), s.id)
	if err != nil {
		return err
	}
	size, err := s.mainSize()
	if err == nil && size != s.rest.size {
		s.fenced, err = ErrFenced, ErrFenced
	}
	if err != nil {
		return errors.Join(err, l.release())
	}
	s.lock = l
	return nil
}

// unlock ends the lock of a session that rests.
func (s *Session) unlock() error {
	if s.rest == nil || s.lock == nil {
		return nil
	}
	size, err := s.mainSize()
	s.rest.size = size
	err = errors.Join(err, s.lock.release())
	s.lock = nil
	return err
}

// mainSize is the size of the main conversation's file, 0 if there is none.
func (s *Session) mainSize() (int64, error) {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
