package worker

import (
	"context"
	"slices"
	"sync"
	"time"
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
