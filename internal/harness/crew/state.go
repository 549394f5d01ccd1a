package crew

import (
	"context"
	"sync"

	"github.com/haftdev/haft/internal/tools/subagent"
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

// detach lets go of the call that waits for the agent. It reports false if none does.
func (s *state) detach() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.background || s.over {
		return false
	}
	s.background, s.released = true, true
	close(s.detached)
	return true
}

// last is how the work ended; running says that it has not, or that its process did.
func (s *state) last() (status subagent.Status, running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.phase != resting || s.cut
}

// start takes what cancels the work, and reports whether the agent has worked before.
func (s *state) start(cancel context.CancelCauseFunc) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again, s.worked, s.cancel = s.worked, true, cancel
	if s.stopped != nil {
		cancel(s.stopped)
	}
	return again
}

// lastTurn notes that the agent takes no more turns.
func (s *state) lastTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase = ending
}

// close notes that the work is over: no call is let go any more.
func (s *state) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// rest ends the work; closing says that the crew ends with it.
func (s *state) rest(status subagent.Status, closing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase, s.status = resting, status
	s.cut = s.background && closing && status == subagent.Cancelled
	close(s.rested)
}

// isBackground reports whether no call waits for the agent.
func (s *state) isBackground() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.background
}

// wake lets an agent that rests work again, in the background.
func (s *state) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase, s.background, s.over, s.cut = working, true, false, false
	s.stopped, s.cancel, s.rested = nil, nil, make(chan struct{})
}

// waitRested is closed when the agent rests.
func (s *state) waitRested() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rested
}
