package crew

import (
	"context"
	"sync"

	"github.com/haftdev/haft/tool/subagent"
)

// A phase is what an agent does at the moment.
type phase int

const (
	resting phase = iota // it has finished, and can be woken
	working
	ending // it works, and takes no more turns
)

// A state is where an agent is in its life. The changes are the methods; each leaves it
// consistent. A lock of the crew may be held while one is called, none is taken in it.
type state struct {
	mu         sync.Mutex
	phase      phase
	worked     bool            // it has worked before: what it closed is to be opened again
	background bool            // no call waits for it
	over       bool            // the work is over: it cannot be moved any more
	status     subagent.Status // how its last work ended
	cut        bool            // its work ended with the crew
	released   bool
	stopped    error                   // why there will be no work
	cancel     context.CancelCauseFunc // of the work that runs; nil if none does

	rested   chan struct{} // closed when it rests; nil before it has worked
	detached chan struct{} // closed when the call that waited for it was let go
}

// busy reports whether the agent works, and whether it still takes turns.
func (s *state) busy() (busy, takesTurns bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase != resting, s.phase == working
}

// stop ends the work, and any that would follow before the agent is woken.
func (s *state) stop(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = why
	if s.cancel != nil {
		s.cancel(why)
	}
}

// wasDetached reports whether the call that waited for the agent was let go.
func (s *state) wasDetached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released
}
