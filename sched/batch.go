package sched

import (
	"cmp"
	"context"
	"iter"
	"sync"

	"github.com/haftdev/haft/internal/text/jsonstream"
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

	mu               sync.Mutex
	moved            sync.Cond    // an outcome was set, or the batch ended
	calls            []*execution // in the order of the message
	next             int          // no call before it is queued
	examined         *execution   // the queued call whose facts are being found; nil for none
	changes          int          // calls that ended and may have changed something
	taken            int          // outcomes that were read
	running          int          // calls that hold a place
	alone            bool         // the one that runs does so alone
	exclusiveWaiters []*execution // running calls that gave their place up to run alone
	ended            bool         // no more calls will come
	stopped          error        // no more calls will start, and why
	failed           error        // a sibling's failure that cancels what comes behind it
	limit            int          // characters that the results may have together
	shown            func(*Outcome) string
	head             int         // all results before it have their length
	budget           int         // characters that they leave to the others
	heir             **execution // runs the next call that can start; nil if no goroutine is free for it
}

// BatchOptions describe one message.
type BatchOptions struct {
	// Tools are the tools of the turn; nil means none.
	Tools *tool.Set
	// Agent names the sub-agent whose message it is; "" is the main conversation.
	Agent string
	// CallID returns the journal's id for the call at a position in the message; nil numbers
	// the calls.
	CallID func(index int) string
	// Repeats watches for loops across the messages of a turn; nil means that nothing does.
	Repeats *Repeats
	// Limit is how many characters the results of the message may have together, in the order
	// of its calls; 0 means [Options.MessageLimit].
	Limit int
	// Shown says where the model can still see this result, of a call in an earlier message, such
	// as "3 calls ago"; "" if nowhere. Nil sends every result.
	Shown func(*Outcome) string
}

// An Input is the input of a call while it arrives. The call's position in the message is
// that of its Open.
type Input struct {
	object *jsonstream.Object
	call   *execution
	closed bool // guarded by the batch's mu
}

// Open begins a call, whose input is written next. It must not be called after [Batch.End].
func (b *Batch) Open(useID, name string) *Input {
	in := &Input{object: jsonstream.New(nil), call: b.newExecution(useID, name)}
	in.call.input = in
	return in
}

// Write takes a piece of the input. If there is something wrong with it, the model is told.
func (in *Input) Write(p []byte) (int, error) {
	in.object.Write(p)
	return len(p), nil
}

// Arrived returns the part of the input that has arrived so far, for a front end to show.
func (in *Input) Arrived() *jsonstream.Object { return in.object }

// Close ends the input and queues the call, which may start at once. A second
// Close does nothing.
func (in *Input) Close() {
	if in.close() {
		in.call.batch.publish(in.call, Event{State: Queued})
		in.call.batch.enter(in.call, in.object)
	}
}

// Discard removes the call, as if it had never been opened. It is used if the message was cut
// off inside the call and the rest does not become part of the conversation.
func (in *Input) Discard() {
	if in.close() {
		in.call.batch.discard(in.call)
	}
}

// close reports whether it was the first to close the input.
func (in *Input) close() bool {
	b := in.call.batch
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !in.closed
	in.closed = true
	return first
}

// Add queues a call whose input is already complete.
func (b *Batch) Add(useID, name string, input []byte) {
	in := b.Open(useID, name)
	in.Write(input)
	in.Close()
}

// End says that no more calls will come. Inputs that are still open are closed; their calls
// fail as truncated.
func (b *Batch) End() {
	b.mu.Lock()
	b.ended = true
	open := b.calls
	b.moved.Broadcast()
	b.mu.Unlock()
	for _, f := range open {
		f.input.Close()
	}
}

// Interrupt stops the batch as a user would: queued calls are cancelled; running ones are
// cancelled or finish, as their tools declare.
func (b *Batch) Interrupt(why error) { b.stop(why, interruptible) }

// Outcomes returns the outcome of each call in the order of the message, and ends after the
// last one once [Batch.End] was called. It is for one reader, which may leave the loop and
// return later.
func (b *Batch) Outcomes() iter.Seq[*Outcome] {
	return func(yield func(*Outcome) bool) {
		for {
			f := b.await()
			if f == nil {
				b.unwatch()
				return
			}
			b.publish(f, Event{State: Yielded})
			if !yield(b.repeats.note(f)) {
				return
			}
		}
	}
}

// await returns the next call when it has its outcome; nil if there are no more.
func (b *Batch) await() *execution {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for b.taken < len(b.calls) && b.calls[b.taken].discarded {
			b.taken++
		}
		switch {
		case b.taken < len(b.calls) && b.calls[b.taken].done != nil:
			f := b.calls[b.taken]
			f.state = Yielded
			b.taken++
			return f
		case b.taken == len(b.calls) && b.ended:
			return nil
		}
		b.moved.Wait()
	}
}

func (b *Batch) newExecution(useID, name string) *execution {
	f := &execution{batch: b, useID: useID, called: name, name: name, mark: new(mark)}
	if t := b.tools.Called(name); t != nil {
		f.name = t.Name
	}
	f.ctx, f.cancel = context.WithCancelCause(b.ctx)
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		panic("sched: a call was opened after End")
	}
	f.index = len(b.calls)
	b.calls = append(b.calls, f)
	b.mu.Unlock()
	f.id = b.callID(f.index)
	f.call = &tool.Call{
		ID: f.id, UseID: useID, Tool: f.name, Agent: b.agent, Session: b.tools.Session(), Tools: b.tools,
		Progress: func(p tool.Progress) { b.report(f, p) },
	}
	f.out = f.outcome(Succeeded)
	return f
}

// report passes progress on, unless the call has ended.
func (b *Batch) report(f *execution, p tool.Progress) {
	if p == nil || len(b.opts.Feeds) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !f.claimed {
		b.publish(f, Event{Progress: p})
	}
}

// enter adds a call whose input is complete.
func (b *Batch) enter(f *execution, in *jsonstream.Object) {
	if b.ctx.Err() != nil {
		b.cancelQueued(f, context.Cause(b.ctx))
		return
	}
	if !b.prepare(f, in) {
		return
	}
	b.mu.Lock()
	f.arrived, f.repaired, f.state = f.call, len(f.out.Repairs), Queued
	why := cmp.Or(b.stopped, context.Cause(b.ctx), b.failed)
	if why == nil {
		b.advance()
	} else {
		f.state = Completed // out of the queue, so that the end of another call does not start it
	}
	b.mu.Unlock()
	if why != nil {
		b.cancelQueued(f, why)
	}
}

// prepare prepares the call and reports whether it can be queued. If not, the call has its
// outcome.
func (b *Batch) prepare(f *execution, in *jsonstream.Object) (ready bool) {
	var out *Outcome
	prepared := false
	defer func() {
		if !prepared {
			out = f.vanished()
		}
		if ready = out == nil; !ready {
			b.finish(f, out, nil)
		}
	}()
	out = f.recoverPanic(func() *Outcome { return f.prepare(in) })
	prepared = true
	return
}

// discard takes a call out of the message.
func (b *Batch) discard(f *execution) {
	f.cancel(nil)
	b.mu.Lock()
	f.discarded, f.claimed, f.state = true, true, Completed
	b.advance()
	b.moved.Broadcast()
	next, late := b.nextLate()
	b.mu.Unlock()
	for next != nil && late != nil {
		next, late = b.conclude(next, late, nil)
	}
}
