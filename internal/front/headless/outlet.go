package headless

import (
	"errors"
	"sync"
	"time"

	"github.com/haftdev/haft/wire"
)

// An outlet is the program's end of the stream. It waits for a program that reads slowly,
// however long that takes. Once the session has been asked to end, a message that is not
// read in time is the last one, and the writer is released.
type outlet struct {
	out    interface{ Write(wire.Message) error }
	broken func(error) // told once

	turn chan struct{} // holds a token while a message is being written
	gone chan struct{} // closed when nothing more can be written
	once sync.Once

	mu    sync.Mutex
	since time.Time // of the message that is being written; zero if none is
	err   error     // why not everything was written
}

func newOutlet(out interface{ Write(wire.Message) error }, broken func(error)) *outlet {
	return &outlet{out: out, broken: broken, turn: make(chan struct{}, 1), gone: make(chan struct{})}
}

// Write writes a message after those before it.
func (o *outlet) Write(m wire.Message) error {
	select {
	case o.turn <- struct{}{}:
	case <-o.gone:
		return errNotReading
	}
	done := make(chan error, 1)
	o.mark(time.Now())
	go func() {
		err := o.out.Write(m)
		o.mark(time.Time{})
		<-o.turn
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			o.fail(err)
		}
		return err
	case <-o.gone:
		return errNotReading
	}
}

func (o *outlet) mark(t time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since = t
}

var errNotReading = errors.New("it reads nothing")

// fail ends the stream in this direction.
func (o *outlet) fail(err error) {
	o.once.Do(func() {
		o.mu.Lock()
		o.err = err
		o.mu.Unlock()
		close(o.gone)
		o.broken(err)
	})
}

// failed reports whether something could not be written.
func (o *outlet) failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// expire makes messages that are not read in time the last ones, from now on.
func (o *outlet) expire(after time.Duration) {
	began := time.Now()
	go func() {
		look := time.NewTicker(after / 16)
		defer look.Stop()
		for {
			select {
			case <-o.gone:
				return
			case <-look.C:
			}
			o.mu.Lock()
			since := o.since
			o.mu.Unlock()
			if !since.IsZero() && time.Since(since) >= after && time.Since(began) >= after {
				o.fail(errNotReading)
			}
		}
	}()
}

// close ends what watches the stream.
func (o *outlet) close() { o.once.Do(func() { close(o.gone) }) }
