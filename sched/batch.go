package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/guard/output"
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

// bound limits everything that an outcome puts into the conversation.
func (b *Batch) bound(f *execution, out *Outcome) {
	if !b.excerpt(f, out) {
		granted := b.grant(f, min(f.limit(), output.Size(out.Result.Content)))
		out.Result.Content, out.Kept = b.opts.Output.Bound(f.id+"-"+f.useID, out.Result.Content, granted)
	}
	b.charge(f, output.Size(out.Result.Content)) // a note may be longer than what it replaces
	if holdsForgedReminder(f.name, out.Result.Content) {
		out.Notes = append(out.Notes, forgedReminderNote)
	}
	for i, note := range out.Notes {
		out.Notes[i] = output.Shorten(note, maxAside)
	}
	for i, m := range out.Result.Messages {
		out.Result.Messages[i].Content, _ = b.opts.Output.Bound(fmt.Sprintf("%s-%s-message-%d", f.id, f.useID, i), m.Content, maxAside)
	}
}

// excerpt shortens a result of an MCP server that is too long, if all of it is in a file, and
// reports whether it has.
func (b *Batch) excerpt(f *execution, out *Outcome) bool {
	if f.tool == nil || f.tool.MaxResult != 0 || !strings.HasPrefix(f.tool.Source, "mcp:") || output.Size(out.Result.Content) <= f.limit() {
		return false
	}
	short, kept := b.opts.Output.Bound(f.id+"-"+f.useID, out.Result.Content, b.grant(f, excerpt))
	if kept == nil || kept.Path == "" {
		return false
	}
	out.Result.Content, out.Kept = short, kept
	return true
}

// replace puts a sentence in the place of a result that the model can still see.
func (b *Batch) replace(f *execution, out *Outcome) {
	r := &out.Result
	r.Content = sendable(f.name, r.Content)
	f.whole = r.Content
	if b.shown == nil || r.Unchanged == "" || out.Status != Succeeded || output.Size(r.Content) < worthReplacing {
		return
	}
	if where := b.shown(out); where != "" {
		r.Content = tool.Text(strings.ReplaceAll(r.Unchanged, tool.ShownWhere, where)).Content
	}
}

// grant returns how many characters a result may have: what the results before it, in the order
// of the message, leave of its limit.
func (b *Batch) grant(f *execution, size int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	left, _ := b.left(f)
	return min(size, max(left, leastGrant))
}

// charge records how long a result has become.
func (b *Batch) charge(f *execution, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.charged, f.bounded = size, true
}

// settled reports whether nothing that is still to come can change what a result may have.
func (b *Batch) settled(f *execution, out *Outcome) bool {
	left, reserved := b.left(f)
	return reserved == 0 || min(f.limit(), output.Size(out.Result.Content)) <= max(left-reserved, leastGrant)
}

// left returns how much of the message's limit the results before f leave, and how much of that
// those may take that are not there yet.
func (b *Batch) left(f *execution) (left, reserved int) {
	for b.head < f.index && (b.calls[b.head].bounded || b.calls[b.head].discarded) {
		b.budget -= b.calls[b.head].charged
		b.head++
	}
	left = b.budget
	for _, s := range b.calls[min(b.head, f.index):f.index] {
		switch {
		case s.discarded:
		case s.bounded:
			left -= s.charged
		case s.state == arriving: // its tool is not known
			reserved += b.limit
		default:
			reserved += s.limit()
		}
	}
	return left, reserved
}

// nextLate takes the first call without a result, if it only waits for those before it. The
// batch is locked.
func (b *Batch) nextLate() (*execution, *Outcome) {
	for _, f := range b.calls[b.head:] {
		if f.bounded || f.discarded {
			continue
		}
		out := f.late
		f.late = nil
		return f, out
	}
	return nil, nil
}

// stop lets nothing more start, and ends as much as its reach says.
func (b *Batch) stop(why error, how reach) {
	b.mu.Lock()
	queued := b.halt(cmp.Or(why, context.Canceled), how)
	b.mu.Unlock()
	for _, f := range queued {
		b.cancelQueued(f, why)
	}
}

// halt is stop with the lock held. It returns the calls to cancel.
func (b *Batch) halt(why error, how reach) (queued []*execution) {
	b.stopped = cmp.Or(b.stopped, why)
	for _, f := range b.calls {
		switch {
		case f.claimed:
		case f.state == Queued:
			f.state = Completed // out of the queue
			queued = append(queued, f)
		case f.state == Executing && f.within(how):
			b.abort(f, why)
		}
	}
	return queued
}

// abort cancels a call that has a place, and abandons it if it does not return.
func (b *Batch) abort(f *execution, why error) {
	f.cancel(why)
	if f.grace == nil {
		f.grace = time.AfterFunc(b.opts.CancelGrace, func() { b.abandon(f) })
	}
}

// halted reports whether nothing more may start. It checks the context as well as stopped,
// because another goroutine sets stopped a moment later.
func (b *Batch) halted() bool { return b.stopped != nil || b.ctx.Err() != nil }

// clearToRun reports whether f may run now, and notes that it does.
func (b *Batch) clearToRun(f *execution) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.halted() || f.ctx.Err() != nil {
		f.cancel(cmp.Or(b.stopped, context.Cause(b.ctx)))
		return false
	}
	f.running, f.readOnly = true, f.facts.Marks.ReadOnly
	return true
}

// gone reports whether the call was given up.
func (b *Batch) gone(f *execution) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return f.claimed
}

// cancelQueued gives a call that never ran its outcome.
func (b *Batch) cancelQueued(f *execution, why error) {
	f.cancel(why)
	out := f.outcome(Cancelled)
	out.Input = f.asArrived().Input
	out.Result = tool.Failure("Cancelled before it ran: " + causeText(why) + ".")
	b.finish(f, &out, nil)
}

// abandon gives up on a call that did not return after it was cancelled. The execution's
// own outcome still belongs to the stuck goroutine.
func (b *Batch) abandon(f *execution) {
	out := f.outcome(Cancelled)
	out.Input = f.arrived.Input
	out.Result = tool.Failure(fmt.Sprintf("Cancelled while it ran: %s. It had not stopped %s later, so what it did is unknown.",
		causeText(context.Cause(f.ctx)), b.opts.CancelGrace))
	b.finish(f, &out, nil)
}

// finish gives the call its outcome, unless it has one. If heir is not nil, it is set to
// the first call that can start now, which the caller runs.
func (b *Batch) finish(f *execution, out *Outcome, heir **execution) {
	b.mu.Lock()
	if f.claimed {
		b.mu.Unlock()
		return
	}
	f.claimed = true
	b.mu.Unlock()
	b.replace(f, out)
	b.mu.Lock()
	if !b.settled(f, out) {
		f.late = out
		b.vacate(f)
		b.pass(heir)
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	for f != nil && out != nil {
		f, out = b.conclude(f, out, heir)
		heir = nil
	}
}

// conclude limits, records and publishes an outcome. It returns the next call that only waits for
// that, if there is one, and its outcome.
func (b *Batch) conclude(f *execution, out *Outcome, heir **execution) (*execution, *Outcome) {
	b.bound(f, out)
	if err := b.write(f, Record{Step: Finished, Call: f.asArrived(), Verdict: out.Verdict, Outcome: out}); err != nil {
		out.Fatal = cmp.Or(out.Fatal, err)
	}

	b.mu.Lock()
	if f.grace != nil {
		f.grace.Stop()
	}
	b.vacate(f)
	f.done = out
	behind, why := b.consequences(f)
	b.publish(f, Event{State: Completed, Outcome: out})
	b.pass(heir)
	b.moved.Broadcast()
	next, late := b.nextLate()
	b.mu.Unlock()
	f.cancel(nil)
	for _, s := range behind {
		b.cancelQueued(s, why)
	}
	return next, late
}

// vacate gives the place of a call back. The batch is locked.
func (b *Batch) vacate(f *execution) {
	if f.state == Executing {
		b.running--
		b.alone = false
	}
	if f.running && !f.readOnly {
		b.changes++
	}
	f.state, f.running = Completed, false
}

// pass lets the calls run that can, the first of them by the goroutine that is free. The batch is
// locked.
func (b *Batch) pass(heir **execution) {
	b.heir = heir
	b.advance()
	b.heir = nil
}

// consequences returns the queued calls that the end of f cancels, and why.
func (b *Batch) consequences(f *execution) ([]*execution, error) {
	switch out := f.done; {
	case out.Fatal != nil:
		why := errors.New("the turn ended with an error in " + f.name)
		return b.halt(why, waiting), why
	case out.Stop != "":
		why := errors.New("the turn was ended")
		return b.halt(why, waiting), why
	case out.Status == Failed && b.opts.SiblingErrors == CancelSiblings && f.tool != nil && f.tool.StopsSiblings:
		b.failed = cmp.Or(b.failed, errors.New("an earlier call of "+f.name+" failed"))
		b.abortBeside(f)
		return b.behind(f), b.failed
	}
	return nil, nil
}

// abortBeside cancels the calls that run at the same time as f, if they may be interrupted.
func (b *Batch) abortBeside(f *execution) {
	why := errors.New("a parallel call of " + f.name + " failed")
	for _, s := range b.calls {
		if s != f && !s.claimed && s.state == Executing && s.within(interruptible) {
			b.abort(s, why)
		}
	}
}

// behind takes the calls after f out of the queue.
func (b *Batch) behind(f *execution) (queued []*execution) {
	for _, s := range b.calls[f.index+1:] {
		if s.state == Queued && !s.claimed {
			s.state = Completed
			queued = append(queued, s)
		}
	}
	return queued
}

// write calls the recorder, if there is one. The end of a call does not cancel it.
func (b *Batch) write(f *execution, rec Record) (err error) {
	if b.opts.Recorder == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("could not record the call %s: the recorder crashed: %v", f.id, p)
		}
	}()
	if err := b.opts.Recorder.Record(context.WithoutCancel(f.ctx), rec); err != nil {
		return fmt.Errorf("could not record the call %s: %w", f.id, err)
	}
	return nil
}

// publish sends an event of a call to every feed.
func (b *Batch) publish(f *execution, e Event) {
	e.CallID, e.UseID, e.Tool, e.Agent = f.id, f.useID, f.name, b.agent
	for _, feed := range b.opts.Feeds {
		feed.put(f.mark, e)
	}
}

// advance starts what may start, in the order of the message.
func (b *Batch) advance() {
	if b.halted() {
		return
	}
	if len(b.exclusiveWaiters) > 0 {
		if b.running == 0 {
			f := b.exclusiveWaiters[0]
			b.exclusiveWaiters = b.exclusiveWaiters[1:]
			b.running, b.alone = 1, true
			close(f.granted)
		}
		return
	}
	for ; b.next < len(b.calls); b.next++ {
		f := b.calls[b.next]
		if f.state == arriving {
			return
		}
		if f.state != Queued {
			continue
		}
		if b.examined != nil || !b.canStart(f) {
			return
		}
		if !f.known {
			b.examined = f
			b.hand(f)
			return
		}
		b.start(f)
	}
}

// canStart reports whether f may run together with what is running. If that is not known yet,
// it reports whether f may turn out to.
func (b *Batch) canStart(f *execution) bool {
	return b.running == 0 || (f.shared || !f.known) && !b.alone && b.running < b.opts.MaxConcurrent
}

func (b *Batch) start(f *execution) {
	f.state = Executing
	b.running++
	b.alone = !f.shared
	b.publish(f, Event{State: Executing})
	b.hand(f)
}

// hand gives a call to the goroutine that is free for it, or to a new one.
func (b *Batch) hand(f *execution) {
	if b.heir != nil && *b.heir == nil {
		*b.heir = f
		return
	}
	go b.work(f)
}

// work examines a call or runs it to its outcome, and then continues with another one, if one
// can start: a new goroutine for each call would have to grow its stack again.
func (b *Batch) work(f *execution) {
	for f != nil {
		f = b.step(f)
	}
}

func (b *Batch) step(f *execution) (next *execution) {
	var out *Outcome
	examine, returned := !f.known, false
	defer func() {
		if !returned {
			out = f.vanished()
		}
		if examine {
			b.place(f, out, &next)
		} else {
			b.finish(f, out, &next)
		}
		if !returned && next != nil {
			go b.work(next) // this goroutine ends
		}
	}()
	if examine {
		out = f.recoverPanic(f.examine)
	} else {
		out = f.recoverPanic(f.run)
	}
	returned = true
	return nil
}

// place queues a call whose facts are known. A call that has an outcome instead is finished.
func (b *Batch) place(f *execution, out *Outcome, heir **execution) {
	b.mu.Lock()
	b.examined, f.known, f.since = nil, true, b.changes
	if out == nil {
		f.shared = f.facts.Marks.ConcurrencySafe
		b.heir = heir
		b.advance()
		b.heir = nil
		b.mu.Unlock()
		return
	}
	if f.state == Queued {
		f.state = Completed // out of the queue, so that the end of another call does not start it
	}
	b.mu.Unlock()
	b.finish(f, out, heir)
}

// outdated reports whether the facts of a call may have changed while it waited for its place.
func (b *Batch) outdated(f *execution) bool {
	if dir := b.opts.Dir; dir != nil && dir(b.agent) != f.facts.Dir {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return f.since != b.changes
}

// acquireExclusive exchanges the shared place of f for an exclusive one, and waits for it.
// It reports false if the call was cancelled meanwhile. That happens only when the whole
// batch is stopped; nothing starts any more then, so there is no place to return.
func (b *Batch) acquireExclusive(f *execution) bool {
	b.mu.Lock()
	f.granted = make(chan struct{})
	b.running--
	at := 0
	for at < len(b.exclusiveWaiters) && b.exclusiveWaiters[at].index < f.index {
		at++
	}
	b.exclusiveWaiters = slices.Insert(b.exclusiveWaiters, at, f)
	b.advance()
	b.mu.Unlock()
	select {
	case <-f.granted:
		return true
	case <-f.ctx.Done():
		return false
	}
}
