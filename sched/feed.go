package sched

import (
	"context"
	"iter"
	"sync"

	"github.com/haftdev/haft/tool"
)

// A State is the stage that a call has reached.
type State int

const (
	arriving State = iota // not yet visible
	// Queued calls wait for their turn.
	Queued
	// Executing calls are on their way through hooks, permission and tool.
	Executing
	// Completed calls have their outcome.
	Completed
	// Yielded calls have given their outcome to the conversation.
	Yielded
)

var stateNames = [...]string{"arriving", "queued", "executing", "completed", "yielded"}

func (s State) String() string { return stateNames[s] }

// An Event is one thing that happened to a call: a new state, or progress.
type Event struct {
	CallID, UseID, Tool, Agent string

	State    State         // zero for progress
	Progress tool.Progress // nil for a state
	Outcome  *Outcome      // of a completed call; not to be modified
	// Missed is how many events before this one were dropped because the reader was too far
	// behind.
	Missed int
}

// A Feed delivers events to one reader. A slow reader never blocks a tool: an unread
// progress report is replaced by a newer one of the same call, and beyond 65,536 unread
// events the oldest are dropped and counted.
type Feed struct {
	mu      sync.Mutex
	wake    chan struct{} // holds a token when there may be something to read
	queue   []*unread
	newest  map[*mark]*unread // the unread progress of a call
	missed  int
	closed  bool
	maximum int
}

type unread struct {
	mark  *mark
	event Event
}

// A mark identifies a call in a feed without keeping the whole call alive.
type mark struct{ _ byte }

// NewFeed returns a feed. It starts to collect events when it is passed to a [Scheduler].
func NewFeed() *Feed {
	return &Feed{wake: make(chan struct{}, 1), newest: make(map[*mark]*unread), maximum: 1 << 16}
}

// Events returns the events as they come, until the feed is closed and read, or
// ctx ends. It is for one reader.
func (f *Feed) Events(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			e, ok, closed := f.take()
			switch {
			case ok:
				if !yield(e) {
					return
				}
			case closed:
				return
			default:
				select {
				case <-f.wake:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// Close ends the feed: unread events can still be read, but no more arrive.
func (f *Feed) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.signal()
}

func (f *Feed) take() (e Event, ok, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return Event{}, false, f.closed
	}
	u := f.pop()
	u.event.Missed, f.missed = f.missed, 0
	return u.event, true, false
}

func (f *Feed) pop() *unread {
	u := f.queue[0]
	f.queue[0] = nil
	f.queue = f.queue[1:]
	if f.newest[u.mark] == u {
		delete(f.newest, u.mark)
	}
	return u
}

func (f *Feed) put(from *mark, e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if e.Progress != nil {
		if u := f.newest[from]; u != nil {
			u.event.Progress = e.Progress
			return
		}
	}
	u := &unread{from, e}
	if e.Progress != nil {
		f.newest[from] = u
	}
	if len(f.queue) == f.maximum {
		f.pop()
		f.missed++
	}
	f.queue = append(f.queue, u)
	f.signal()
}

func (f *Feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
