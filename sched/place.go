package sched

import "slices"

// How calls get a place to run in. All functions are called with batch.mu held, except
// acquireExclusive and the goroutine that start starts.

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
		if !b.canStart(f) {
			return
		}
		b.start(f)
	}
}

// canStart reports whether f may run together with what is running.
func (b *Batch) canStart(f *execution) bool {
	return b.running == 0 || f.shared && !b.alone && b.running < b.opts.MaxConcurrent
}

func (b *Batch) start(f *execution) {
	f.state = Executing
	b.running++
	b.alone = !f.shared
	b.publish(f, Event{State: Executing})
	if b.heir != nil && *b.heir == nil {
		*b.heir = f
		return
	}
	go b.work(f)
}

// work runs a call to its outcome, and then another one that can start in its place: a new
// goroutine for each call would have to grow its stack again.
func (b *Batch) work(f *execution) {
	var next *execution
	for ; f != nil; f = next {
		next = nil
		func() {
			var out *Outcome
			defer func() {
				vanished := out == nil
				if vanished {
					out = f.vanished()
				}
				if b.finish(f, out, &next); vanished && next != nil {
					go b.work(next) // this goroutine ends
				}
			}()
			out = f.recoverPanic(f.run)
		}()
	}
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
