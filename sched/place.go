package sched

import "slices"

// How calls get a place to run in: the first in the queue is examined, which says whether it
// may run beside others, and starts when it can. advance, canStart, start and hand are called
// with batch.mu held.

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
