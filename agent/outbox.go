package agent

import (
	"context"
	"iter"
	"sync"
)

// An outbox holds events until the caller of Run has read them. Adding never waits, so that
// a slow reader does not block a tool; the loop itself, which could fill it without limit,
// asks for room first.
type outbox struct {
	mu    sync.Mutex
	queue []Event
	wake  chan struct{} // holds a token when there may be something to read
	space chan struct{} // holds a token when there may be room again
}

// Unread events are kept up to a limit, because they may come from tasks that run for days.
const (
	crowded = 4096
	unread  = 1 << 16
)

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

func (o *outbox) put(events ...Event) {
	o.mu.Lock()
	o.queue = append(o.queue, events...)
	if extra := len(o.queue) - unread; extra > 0 {
		o.queue = o.queue[extra:]
	}
	o.mu.Unlock()
	signal(o.wake)
}

func (o *outbox) take() (Event, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue = nil
		return nil, false
	}
	ev := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	if len(o.queue) == crowded/2 {
		signal(o.space)
	}
	return ev, true
}

// room waits until the reader has caught up, or ctx ends.
func (o *outbox) room(ctx context.Context) {
	for {
		o.mu.Lock()
		full := len(o.queue) >= crowded
		o.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-o.space:
		case <-ctx.Done():
			return
		}
	}
}

// until returns the events as they come, until done is closed and all are read.
func (o *outbox) until(done <-chan struct{}) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for over := false; ; {
			for {
				ev, ok := o.take()
				if !ok {
					break
				}
				if !yield(ev) {
					return
				}
			}
			if over {
				return
			}
			select {
			case <-o.wake:
			case <-done:
				over = true // one more look: the last events came before it
			}
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
