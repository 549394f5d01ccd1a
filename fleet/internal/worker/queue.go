package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/fleet/internal/runs"
)

// A queue says which prompt of a run has its turn, so that one can be cancelled by its name
// while others come and go.
type queue struct {
	mu        sync.Mutex
	current   string // the prompt whose turn runs
	left      chan struct{}
	interrupt func(context.Context) error
	unwanted  []string
}

// enter begins the turn of a prompt, unless a user has cancelled it.
func (q *queue) enter(prompt string, interrupt func(context.Context) error) bool {
	q.leave()
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Contains(q.unwanted, prompt) {
		return false
	}
	q.current, q.left, q.interrupt = prompt, make(chan struct{}), interrupt
	return true
}

// leave notes that the turn has ended.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current != "" {
		close(q.left)
		q.current = ""
	}
}

// interruptStep is the time between two attempts to stop a turn, which may not have begun.
const interruptStep = 50 * time.Millisecond

// drop makes a prompt unwanted. If its turn runs, it is stopped; ends is closed when it has
// ended.
func (q *queue) drop(ctx context.Context, prompt string) (ends <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if prompt != q.current {
		q.unwanted = append(q.unwanted, prompt)
		return nil
	}
	ends = q.left
	go func() {
		for {
			q.mu.Lock()
			if q.left == ends && q.current != "" { // no other turn begins while this one is stopped
				attempt, cancel := context.WithTimeout(ctx, dropTime)
				_ = q.interrupt(attempt) // the next attempt may do it
				cancel()
			}
			q.mu.Unlock()
			select {
			case <-ends:
				return
			case <-ctx.Done():
				return
			case <-time.After(interruptStep):
			}
		}
	}()
	return ends
}

// dropTime is how long a turn may take to stop before the client that cancels it gets an error.
const dropTime = 3 * time.Second

// hearDrops cancels prompts that users name, and says who leads the run to who wants to lead it.
func (l *leader) hearDrops() (stop func(), err error) {
	w := l.worker
	sub, err := w.Conn.NATS.Subscribe(w.runs.Drops(l.run.ID), func(m *nats.Msg) {
		go func() { // one that takes long must not keep others waiting
			reply := runs.Dropped
			if err := l.drop(string(m.Data)); err != nil {
				reply = err.Error()
			}
			_ = m.Respond([]byte(reply)) // who has gone does not hear it
		}()
	})
	if err != nil {
		return nil, err
	}
	leads, err := w.Conn.NATS.Subscribe(w.runs.Leads(l.run.ID), func(m *nats.Msg) { _ = m.Respond([]byte(w.Name)) })
	if err != nil {
		_ = sub.Unsubscribe()
		return nil, err
	}
	return func() { _, _ = sub.Unsubscribe(), leads.Unsubscribe() }, nil
}

// drop cancels a prompt. One that waits gets its outcome here, one that runs gets it when its
// turn has ended.
func (l *leader) drop(prompt string) error {
	w := l.worker
	ends := l.queue.drop(w.hard, prompt)
	if ends == nil {
		return w.runs.Settle(w.hard, l.run.ID, prompt, runs.DroppedOutcome())
	}
	select {
	case <-ends:
	case <-time.After(dropTime): // it was told to stop
	case <-w.hard.Done():
	}
	return nil
}

// wanted gives those prompts an outcome that were cancelled before this worker took the run,
// and returns the others.
func (l *leader) wanted(pending []runs.Prompt) (rest []runs.Prompt, err error) {
	for _, p := range pending {
		if !slices.Contains(l.run.Unwanted, p.UUID) {
			rest = append(rest, p)
			continue
		}
		if err := l.worker.runs.Settle(l.worker.hard, l.run.ID, p.UUID, runs.DroppedOutcome()); err != nil {
			return nil, err
		}
	}
	return rest, nil
}
