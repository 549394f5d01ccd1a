package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
)

// Run takes up what is queued, turn by turn, and returns what happens. It ends
// when nothing is queued, no task in the background could still wake the
// conversation and nobody holds it (see [Agent.Hold]), or when ctx ends, which its
// last pair says with a nil event.
//
// Leaving the loop, also by a panic, stops the turn and waits for its end; events
// that were not read by then are there for the next Run. One goroutine at a time
// may range over Run.
func (a *Agent) Run(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !a.enter() {
			yield(nil, errors.New("run agent: it is running already"))
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			a.takeTurns(ctx)
		}()
		defer func() {
			cancel(errLeft)
			<-done
			a.leave()
		}()
		for ev := range a.out.until(done) {
			if !yield(ev, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
		}
	}
}

// Hold keeps Run from ending when nothing is queued, until release is called: for a
// front end from which prompts may still come.
func (a *Agent) Hold() (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holds++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		a.holds--
		a.mu.Unlock()
		signal(a.work)
	})
}

var errLeft = errors.New("nobody listens any more")

func (a *Agent) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	entered := !a.running
	a.running = true
	return entered
}

func (a *Agent) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = false
}

// takeTurns runs turns until there is nothing to wait for.
func (a *Agent) takeTurns(ctx context.Context) {
	for ctx.Err() == nil {
		t, waits := a.next(ctx)
		switch {
		case t != nil:
			t.run()
		case !waits:
			return
		default:
			select {
			case <-a.work:
			case <-ctx.Done():
			}
		}
	}
}

// next begins the turn of the prompt that is due; nil if there is none, and
// whether one may still come.
func (a *Agent) next(ctx context.Context) (t *turn, waits bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		return nil, len(a.tasks)+a.holds > 0
	}
	at := max(0, slices.IndexFunc(a.queue, func(p Prompt) bool { return p.Priority == Now }))
	p := a.queue[at]
	a.queue = slices.Delete(a.queue, at, at+1)
	a.turn = newTurn(ctx, a, p)
	return a.turn, true
}
