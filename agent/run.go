package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/sys/stackroom"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// Run takes up what is queued, turn by turn, and returns what happens. It ends when nothing is
// queued, no task in the background could still wake the conversation and no Hold is active
// (see [Agent.Hold]), or when ctx ends; the last pair then has a nil event and the error.
//
// Leaving the loop, even by a panic, stops the turn and waits for its end; unread events are
// kept for the next Run. One goroutine at a time may range over Run.
func (a *Agent) Run(ctx context.Context) iter.Seq2[Event, error] {
	return a.RunAwaiting(ctx, func(Task) bool { return true })
}

// RunAwaiting is Run for a front end that does not wait for every background task, but only
// for those for which awaits returns true. awaits is called when nothing is queued, and
// again after Reconsider; a turn is never cut short.
func (a *Agent) RunAwaiting(ctx context.Context, awaits func(Task) bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !a.enter() {
			yield(nil, errors.New("run agent: it is already running"))
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			stackroom.Reserve()
			a.takeTurns(ctx, awaits)
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

// Reconsider makes RunAwaiting ask again which tasks to wait for.
func (a *Agent) Reconsider() { signal(a.work) }

// Hold keeps Run from ending when nothing is queued, until release is called: for a front
// end from which prompts may still come.
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

var errLeft = errors.New("nothing is reading the events any more")

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
func (a *Agent) takeTurns(ctx context.Context, awaits func(Task) bool) {
	for ctx.Err() == nil {
		if t := a.next(ctx); t != nil {
			t.run()
			continue
		}
		if a.opts.Busy != nil && !a.awaited() {
			if err := a.opts.Busy(ctx, false); err != nil {
				a.out.put(Notice{Level: "warning", Tag: "session", Text: sentence("Could not let other processes continue the session: " + err.Error())})
			}
		}
		if !a.waits(awaits) {
			return
		}
		select {
		case <-a.work:
		case <-ctx.Done():
		}
	}
}

// awaited reports whether tasks run that will be heard of.
func (a *Agent) awaited() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.tasks) > 0
}

// next starts the turn of the next prompt; nil if there is none.
func (a *Agent) next(ctx context.Context) *turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		return nil
	}
	at := max(0, slices.IndexFunc(a.queue, func(p Prompt) bool { return p.Priority == Now }))
	p := a.queue[at]
	a.queue = slices.Delete(a.queue, at, at+1)
	a.turn = newTurn(ctx, a, p)
	return a.turn
}

// newTurn is called with a.mu held.
func newTurn(ctx context.Context, a *Agent, p Prompt) *turn {
	a.prompt = p.UUID
	t := &turn{
		a: a, prompt: p, prompts: []string{p.UUID}, tools: a.set.tools, journal: a.journal, began: time.Now(),
		lasting: context.WithoutCancel(ctx), feed: sched.NewFeed(), relayed: make(chan struct{}), shown: newCounter(),
		repeats: sched.NewRepeats(a.opts.Repeats),
	}
	t.ctx, t.free = ctx, func() {}
	if limit := a.opts.Limits.Time; limit > 0 {
		t.ctx, t.free = context.WithTimeoutCause(ctx, limit, errTimeUp)
	}
	t.asking, t.stop = context.WithCancelCause(t.ctx)
	t.calls = sched.New(t.pipeline())
	t.res = Result{UUID: session.NewUUID(), Origin: p.Origin, Sender: p.Sender, Command: p.command}
	return t
}

// pipeline returns the way that the calls of the turn take.
func (t *turn) pipeline() *sched.Options {
	o := t.a.opts.Sched
	o.Feeds = append(slices.Clip(o.Feeds), t.feed)
	o.Recorder = recorders{o.Recorder, t.journal, t.stop}
	if t.a.opts.Person != nil {
		o.Askers = append(slices.Clip(o.Askers), sched.AskerFunc(t.askPerson))
	}
	return &o
}

// askPerson asks the user, and reports that it does.
func (t *turn) askPerson(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	t.asked.add(c.Call.ID)
	t.a.out.put(Waiting{CallID: c.Call.ID, UseID: c.Call.UseID, Tool: c.Call.Tool, Agent: c.Call.Agent})
	if t.a.opts.Hooks != nil {
		go t.a.fire(t.lasting, hook.Notification{Message: fmt.Sprintf("haft needs your permission to use %s", c.Call.Tool), Type: "permission_prompt"})
	}
	verdict, err := t.a.opts.Person.Ask(ctx, c, question)
	t.a.out.put(Answered{CallID: c.Call.ID})
	return verdict, err
}

// waits reports whether there is a prompt, or may still be one. A task leaves the list only
// after its end was queued, so that none is missed in between. The front end is asked
// without holding the lock, because it may send while it holds its own.
func (a *Agent) waits(awaits func(Task) bool) bool {
	a.mu.Lock()
	sure, tasks := len(a.queue)+a.holds > 0, slices.Collect(maps.Values(a.tasks))
	a.mu.Unlock()
	return sure || slices.ContainsFunc(tasks, awaits)
}
