package sched

import "slices"

// How calls get a place to run in. All of it is called with batch.mu held, but
// for goAlone and the goroutine that start starts.

// advance starts what may start, in the order of the message.
func (b *Batch) advance() {
	if b.halted() {
		return
	}
	if len(b.wishes) > 0 {
		if b.running == 0 {
			f := b.wishes[0]
			b.wishes = b.wishes[1:]
			b.running, b.alone = 1, true
			close(f.granted)
		}
		return
	}
	for ; b.next < len(b.flights); b.next++ {
		f := b.flights[b.next]
		if f.state == arriving {
			return
		}
		if f.state != Queued {
			continue
		}
		if !b.admits(f) {
			return
		}
		b.start(f)
	}
}

// admits reports whether f may run beside what runs.
func (b *Batch) admits(f *flight) bool {
	return b.running == 0 || f.shared && !b.alone && b.running < b.opts.MaxConcurrent
}

func (b *Batch) start(f *flight) {
	f.state = Executing
	b.running++
	b.alone = !f.shared
	b.publish(f, Event{State: Executing})
	go func() {
		var out *Outcome
		defer func() {
			if out == nil {
				out = f.vanished()
			}
			b.finish(f, out)
		}()
		out = f.safely(f.fly)
	}()
}

// goAlone trades the shared place of f for one alone, and waits for it. It
// reports false if the call was cancelled meanwhile.
func (b *Batch) goAlone(f *flight) bool {
	b.mu.Lock()
	f.granted = make(chan struct{})
	f.shared = false
	b.running--
	at := 0
	for at < len(b.wishes) && b.wishes[at].index < f.index {
		at++
	}
	b.wishes = slices.Insert(b.wishes, at, f)
	b.advance()
	b.mu.Unlock()
	select {
	case <-f.granted:
		return true
	case <-f.ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.wishes, f); i >= 0 {
		b.wishes = slices.Delete(b.wishes, i, i+1)
		b.running++ // finish gives it back
	}
	return false
}
