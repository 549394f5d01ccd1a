package wire

import (
	"io"
	"sync"
)

// Pipe returns the two ends of a conversation inside one process. Messages are passed on as
// they are, without JSON: what one end writes, the other reads. There is no buffer; a Write
// waits for its Read.
func Pipe() (*PipeEnd, *PipeEnd) {
	there, back := newHalf(), newHalf()
	return &PipeEnd{in: there, out: back}, &PipeEnd{in: back, out: there}
}

// A PipeEnd is a [Stream]. It is safe for concurrent use.
type PipeEnd struct{ in, out *half }

// half is one direction.
type half struct {
	messages     chan Message
	ended        chan struct{} // nothing more will be written
	stopped      chan struct{} // nothing more will be read
	onceE, onceS sync.Once
}

func newHalf() *half {
	return &half{messages: make(chan Message), ended: make(chan struct{}), stopped: make(chan struct{})}
}

// Read returns what the other end writes, io.EOF after its CloseWrite.
func (p *PipeEnd) Read() (Message, error) {
	select {
	case m := <-p.in.messages:
		return m, nil
	case <-p.in.ended:
		return nil, io.EOF
	case <-p.in.stopped:
		return nil, io.ErrClosedPipe
	}
}

// Write passes a message to the other end. It fails once either end is closed.
func (p *PipeEnd) Write(m Message) error {
	select { // an end that came before a reader wins
	case <-p.out.ended:
		return io.ErrClosedPipe
	case <-p.out.stopped:
		return io.ErrClosedPipe
	default:
	}
	select {
	case p.out.messages <- m:
		return nil
	case <-p.out.ended:
		return io.ErrClosedPipe
	case <-p.out.stopped:
		return io.ErrClosedPipe
	}
}

// CloseWrite says that no more will be written. It may be called more than once.
func (p *PipeEnd) CloseWrite() error {
	p.out.onceE.Do(func() { close(p.out.ended) })
	return nil
}

// Close closes both directions.
func (p *PipeEnd) Close() error {
	p.in.onceS.Do(func() { close(p.in.stopped) })
	return p.CloseWrite()
}
