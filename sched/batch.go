package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/jsonstream"
	"github.com/haftdev/haft/tool"
)

// A Batch is the calls of one message of the model.
type Batch struct {
	opts    *Options
	tools   *tool.Set
	agent   string
	callID  func(int) string
	repeats *Repeats
	ctx     context.Context
	unwatch func() bool // stops watching ctx

	mu      sync.Mutex
	moved   sync.Cond // an outcome was set, or the batch ended
	flights []*flight // in the order of the message
	next    int       // no flight before it is queued
	running int       // flights that hold a place
	alone   bool      // the one that runs does so alone
	wishes  []*flight // running flights that gave their place up to run alone
	ended   bool      // no more calls will come
	stopped error     // no more calls will start, and why
	failed  error     // a sibling's failure that cancels what comes behind it
	budget  int       // characters left to the results
}

// BatchOptions describe one message.
type BatchOptions struct {
	// Tools are those of the turn.
	Tools *tool.Set
	// Agent names the sub-agent whose message it is; "" is the main conversation.
	Agent string
	// CallID names the call at a place of the message in the journal; nil counts.
	CallID func(index int) string
	// Repeats watches for loops over the messages of a turn; nil does not.
	Repeats *Repeats
}

// Start begins a batch. When ctx ends, queued calls are cancelled and running
// ones see their contexts end, whatever they declare for an interrupt.
func (s *Scheduler) Start(ctx context.Context, opts *BatchOptions) *Batch {
	b := &Batch{
		opts: &s.opts, tools: opts.Tools, agent: opts.Agent, callID: opts.CallID, repeats: opts.Repeats,
		ctx: ctx, budget: s.opts.MessageLimit,
	}
	b.moved.L = &b.mu
	if b.callID == nil {
		b.callID = func(i int) string { return "call-" + strconv.Itoa(i) }
	}
	b.unwatch = context.AfterFunc(ctx, func() { b.stop(context.Cause(ctx), true) })
	return b
}

// An Input is the input of a call while it arrives. The call exists from Close
// on; an Input that is never closed leaves no trace.
type Input struct {
	*jsonstream.Object
	batch    *Batch
	id, name string
}

// Open begins a call, whose input is to be written.
func (b *Batch) Open(useID, name string) *Input {
	return &Input{Object: jsonstream.New(nil), batch: b, id: useID, name: name}
}

// Close queues the call. It may start at once.
func (in *Input) Close() { in.batch.enter(in.id, in.name, in.Object) }

// Add queues a call whose input is there.
func (b *Batch) Add(useID, name string, input []byte) {
	in := b.Open(useID, name)
	in.Write(input) // what is wrong with it is for the model
	in.Close()
}

// End says that no more calls will come.
func (b *Batch) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.moved.Broadcast()
}

// Interrupt stops the batch as a person would: queued calls are cancelled, and
// running ones are cancelled or finish as their tools declare.
func (b *Batch) Interrupt(why error) { b.stop(why, false) }

// Outcomes returns the outcome of each call in the order of the message, and
// ends after the last one once [Batch.End] was called. It is for one reader.
func (b *Batch) Outcomes() iter.Seq[*Outcome] {
	return func(yield func(*Outcome) bool) {
		defer b.unwatch()
		for i := 0; ; i++ {
			f := b.await(i)
			if f == nil {
				return
			}
			b.publish(f, Event{State: Yielded})
			if !yield(b.repeats.note(f)) {
				return
			}
		}
	}
}

// await returns the i-th flight when it has its outcome; nil if there is none to come.
func (b *Batch) await(i int) *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case i < len(b.flights) && b.flights[i].done != nil:
			b.flights[i].state = Yielded
			return b.flights[i]
		case i >= len(b.flights) && b.ended:
			return nil
		}
		b.moved.Wait()
	}
}

// enter takes in a complete call.
func (b *Batch) enter(useID, name string, in *jsonstream.Object) {
	f := b.newFlight(useID, name)
	b.publish(f, Event{State: Queued})
	if b.ctx.Err() != nil {
		b.cancelQueued(f, context.Cause(b.ctx))
		return
	}
	if out := f.safely(func() *Outcome { return f.prepare(name, in) }); out != nil {
		b.finish(f, out)
		return
	}
	b.mu.Lock()
	f.arrived, f.shared, f.state = f.call, f.marks.ConcurrencySafe, Queued
	why := cmp.Or(b.stopped, context.Cause(b.ctx), b.failed)
	if why == nil {
		b.advance()
	}
	b.mu.Unlock()
	if why != nil {
		b.cancelQueued(f, why)
	}
}

func (b *Batch) newFlight(useID, name string) *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := &flight{batch: b, index: len(b.flights), useID: useID, name: name}
	f.id = b.callID(f.index)
	if t := b.tools.Lookup(name); t != nil {
		f.name = t.Name
	}
	f.ctx, f.cancel = context.WithCancelCause(b.ctx)
	f.call = &tool.Call{
		ID: f.id, UseID: useID, Tool: f.name, Agent: b.agent, Session: b.tools.Session(), Tools: b.tools,
		Progress: func(p tool.Progress) { b.publish(f, Event{Progress: p}) },
	}
	f.out = Outcome{CallID: f.id, UseID: useID, Tool: f.name, Agent: b.agent}
	b.flights = append(b.flights, f)
	return f
}

// stop lets nothing more start. A hard stop ends every running call's context;
// otherwise the tools say whether it does.
func (b *Batch) stop(why error, hard bool) {
	why = cmp.Or(why, context.Canceled)
	b.mu.Lock()
	b.stopped = cmp.Or(b.stopped, why)
	var queued []*flight
	for _, f := range b.flights {
		switch {
		case f.claimed:
		case f.state == Queued:
			queued = append(queued, f)
		case f.state == Executing && (hard || !f.running || f.tool.OnInterrupt == tool.InterruptCancel):
			f.cancel(why)
			if f.grace == nil {
				f.grace = time.AfterFunc(b.opts.CancelGrace, func() { b.abandon(f) })
			}
		}
	}
	b.mu.Unlock()
	for _, f := range queued {
		b.cancelQueued(f, why)
	}
}

// clearToRun reports whether f may run now, and notes that it does.
func (b *Batch) clearToRun(f *flight) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.halted() || f.ctx.Err() != nil {
		f.cancel(cmp.Or(b.stopped, context.Cause(b.ctx)))
		return false
	}
	f.running = true
	return true
}

// halted reports whether nothing more may start. The context is looked at as
// well as stopped, which a goroutine of its own sets a moment later.
func (b *Batch) halted() bool { return b.stopped != nil || b.ctx.Err() != nil }

// cancelQueued gives a call that never ran its outcome.
func (b *Batch) cancelQueued(f *flight, why error) {
	f.cancel(why)
	b.finish(f, &Outcome{
		CallID: f.id, UseID: f.useID, Tool: f.name, Agent: b.agent, Input: f.call.Input, Status: Cancelled,
		Result: tool.Failure("Cancelled before it ran: " + causeText(why) + "."),
	})
}

// abandon gives up on a call that did not return after it was cancelled. The
// flight's own outcome still belongs to the goroutine that is stuck.
func (b *Batch) abandon(f *flight) {
	b.finish(f, &Outcome{
		CallID: f.id, UseID: f.useID, Tool: f.name, Agent: b.agent, Input: f.arrived.Input, Status: Cancelled,
		Result: tool.Failure(fmt.Sprintf("Cancelled while it ran: %s. It had not stopped %s later: what it did is not known.",
			causeText(context.Cause(f.ctx)), b.opts.CancelGrace)),
	})
}

// finish gives the call its outcome, unless it has one.
func (b *Batch) finish(f *flight, out *Outcome) {
	b.mu.Lock()
	if f.claimed {
		b.mu.Unlock()
		return
	}
	f.claimed = true
	b.mu.Unlock()

	if err := b.write(f, Record{Step: Finished, Call: f.known(), Verdict: out.Verdict, Outcome: out}); err != nil {
		out.Fatal = cmp.Or(out.Fatal, err)
	}

	b.mu.Lock()
	if f.grace != nil {
		f.grace.Stop()
	}
	if f.state == Executing {
		b.running--
		b.alone = false
	}
	f.state, f.done = Completed, out
	behind := b.behind(f)
	b.publish(f, Event{State: Completed, Outcome: out})
	b.advance()
	b.moved.Broadcast()
	b.mu.Unlock()
	f.cancel(nil)
	for _, s := range behind {
		b.cancelQueued(s, b.failed)
	}
}

// behind returns the queued calls that the failure of f cancels, if that is the
// policy.
func (b *Batch) behind(f *flight) []*flight {
	if b.opts.SiblingErrors != CancelSiblings || f.done.Status != Failed || f.tool == nil || !f.tool.StopsSiblings {
		return nil
	}
	b.failed = cmp.Or(b.failed, errors.New("the call of "+f.name+" before it failed"))
	var queued []*flight
	for _, s := range b.flights[f.index+1:] {
		if s.state == Queued && !s.claimed {
			s.state = Completed // out of the queue
			queued = append(queued, s)
		}
	}
	return queued
}

// write tells the recorder, if there is one. A call's end does not cancel it.
func (b *Batch) write(f *flight, rec Record) error {
	if b.opts.Recorder == nil {
		return nil
	}
	if err := b.opts.Recorder.Record(context.WithoutCancel(f.ctx), rec); err != nil {
		return fmt.Errorf("record call %s: %w", f.id, err)
	}
	return nil
}

// takeBudget reserves room for a result of up to limit characters.
func (b *Batch) takeBudget(limit int) int {
	// Even when the budget is spent a result must be able to say so.
	const least = 2_000
	b.mu.Lock()
	defer b.mu.Unlock()
	limit = min(limit, max(b.budget, least))
	b.budget -= limit
	return limit
}

// returnBudget gives back what a result did not use of its reservation.
func (b *Batch) returnBudget(limit int, content []tool.Block) {
	used := 0
	for _, c := range content {
		if c.Type == tool.TextBlock {
			used += utf8.RuneCountInString(c.Text)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.budget += limit - used
}
