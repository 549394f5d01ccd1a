package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
)

// recorders tell the first recorder, if there is one, and then the journal.
type recorders struct {
	first   sched.Recorder
	journal Journal
	// fenced ends the other calls: another process acts for the session.
	fenced func(error)
}

func (r recorders) Record(ctx context.Context, rec sched.Record) error {
	if r.first != nil {
		if err := r.first.Record(ctx, rec); err != nil {
			return &journalError{err}
		}
	}
	if err := r.journal.Record(ctx, rec); err != nil {
		if errors.Is(err, session.ErrFenced) {
			r.fenced(err)
		}
		return &journalError{err}
	}
	return nil
}

// journalError distinguishes a fault of the record from one of the tool.
type journalError struct{ err error }

func (e *journalError) Error() string { return e.err.Error() }
func (e *journalError) Unwrap() error { return e.err }

// askedAbout are the calls that a user was asked about.
type askedAbout struct {
	mu    sync.Mutex
	calls map[string]bool
}

func (s *askedAbout) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]bool{}
	}
	s.calls[id] = true
}

func (s *askedAbout) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// A counter counts up, and lets others wait for a number.
type counter struct {
	mu  sync.Mutex
	cnd sync.Cond
	n   int
}

func newCounter() *counter {
	c := new(counter)
	c.cnd.L = &c.mu
	return c
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	c.cnd.Broadcast()
}

// await returns when the count has reached n.
func (c *counter) await(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.n < n {
		c.cnd.Wait()
	}
}
