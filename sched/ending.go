package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/haftdev/haft/tool"
)

// reach is how far a stop goes.
type reach int

const (
	// waiting stops what does not run yet.
	waiting reach = iota
	// interruptible stops also what runs and says that it may be interrupted.
	interruptible
	// everything stops all.
	everything
)

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

// within reports whether a stop reaches a call that has a place.
func (f *execution) within(how reach) bool {
	return how == everything || !f.running || how == interruptible && f.tool.OnInterrupt == tool.InterruptCancel
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
