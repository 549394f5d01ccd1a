package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// A Stream carries messages in both directions: as lines (see [Lines]), or through channels
// inside one process. Read is called by one goroutine at a time, Write by many. Read may
// return a *[LineError] and continue; any other error ends the stream.
type Stream interface {
	Read() (Message, error)
	Write(Message) error
}

// Lines joins a Reader and a Writer to a Stream.
func Lines(r *Reader, w *Writer) Stream { return lines{r, w} }

type lines struct {
	*Reader
	*Writer
}

// A Handler answers a request of the other side. The reply is encoded as JSON; nil is a
// success without content. An error is an error answer, with the code of a *[ControlError];
// [Unsupported] makes the error for unknown requests. The context is cancelled when the
// other side withdraws the request, in which case there is no answer, and with the context
// of [Conn.Run].
type Handler func(ctx context.Context, r Request) (reply any, err error)

// Unsupported is the error of a Handler for a request that it does not serve.
func Unsupported(r Request) error {
	if u, ok := r.(*UnknownRequest); ok && u.Err != nil {
		return fmt.Errorf("%s: %w", u.Name, u.Err)
	}
	return &ControlError{Code: ErrorUnsupported, Message: "Unsupported control request subtype: " + r.Subtype()}
}

// ErrClosed is the error of a call that the other side can no longer answer.
var ErrClosed = errors.New("the connection has ended")

// ErrUnanswered is returned by a handler whose request gets no answer, because what it sent instead
// ends the connection.
var ErrUnanswered = errors.New("the request is not answered")

// A Conn handles the control requests of a Stream. Run must be running for calls to be
// answered.
type Conn struct {
	stream Stream
	opts   ConnOptions

	handlers sync.WaitGroup
	mu       sync.Mutex
	ended    error                              // why no answer will come any more
	pending  map[string]chan Response           // calls of ours
	serving  map[string]context.CancelCauseFunc // requests of theirs
}

// ConnOptions are the parts of a Conn that have defaults.
type ConnOptions struct {
	// Handle answers requests, each on its own goroutine; nil supports none. A panic
	// in it is an error answer.
	Handle Handler
	// Ordered says which requests are answered before the next line is read, so that what
	// is sent after them can rely on them. Their handler must be quick and must not call
	// the other side. Nil means none.
	Ordered func(Request) bool
	// Answered is called with a request when its answer was written, or nothing will be; nil means
	// none.
	Answered func(Request)
	// BadLine is called with lines that are not messages; nil ignores them. If it returns
	// an error, the connection ends.
	BadLine func(*LineError) error
}

// NewConn returns a Conn on s. Nil options mean the defaults.
func NewConn(s Stream, opts *ConnOptions) *Conn {
	c := &Conn{stream: s, pending: map[string]chan Response{}, serving: map[string]context.CancelCauseFunc{}}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Handle == nil {
		c.opts.Handle = func(_ context.Context, r Request) (any, error) { return nil, Unsupported(r) }
	}
	return c
}

// Send writes a message that is not a request.
func (c *Conn) Send(m Message) error { return c.stream.Write(m) }

// Run reads until the stream ends and returns why, nil for io.EOF. Answers go to their
// calls, requests to the handler, and everything else to deliver, in order. After Run,
// calls fail with [ErrClosed]; handlers still run, see [Conn.Wait]. The context is that of
// handlers; to end Run itself, end the stream.
func (c *Conn) Run(ctx context.Context, deliver func(Message)) error {
	err := c.read(ctx, deliver)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = ErrClosed
	if err != nil {
		c.ended = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	for id, answer := range c.pending {
		delete(c.pending, id)
		close(answer)
	}
	return err
}

// Wait waits for the handlers that still run after Run.
func (c *Conn) Wait() { c.handlers.Wait() }

// Call sends a request and waits for its answer, which is stored in reply, a pointer, or
// dropped if that is nil. An error answer is a *[ControlError]. When the context ends, the
// request is withdrawn.
func (c *Conn) Call(ctx context.Context, r Request, reply any) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%s: %w", r.Subtype(), err)
	}
	id := rand.Text()
	answer := make(chan Response, 1)
	c.mu.Lock()
	if err := c.ended; err != nil {
		c.mu.Unlock()
		return fmt.Errorf("%s: %w", r.Subtype(), err)
	}
	c.pending[id] = answer
	c.mu.Unlock()
	defer c.forget(id)

	if err := c.stream.Write(&ControlRequest{RequestID: id, Request: r}); err != nil {
		return fmt.Errorf("%s: %w", r.Subtype(), err)
	}
	select {
	case got, ok := <-answer:
		if !ok {
			return fmt.Errorf("%s: %w", r.Subtype(), c.endedBy())
		}
		return got.decode(r, reply)
	case <-ctx.Done():
		_ = c.stream.Write(&ControlCancelRequest{RequestID: id}) // the other side may be gone
		return fmt.Errorf("%s: %w", r.Subtype(), context.Cause(ctx))
	}
}

func (c *Conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

func (c *Conn) endedBy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

func (c *Conn) read(ctx context.Context, deliver func(Message)) error {
	for {
		m, err := c.stream.Read()
		if err != nil {
			if err = c.readError(err); err != nil {
				return finish(err)
			}
			continue
		}
		switch m := m.(type) {
		case *ControlResponse:
			c.answered(m.Response)
		case *ControlCancelRequest:
			c.takenBack(m.RequestID)
		case *ControlRequest:
			c.serve(ctx, m)
		default:
			deliver(m)
		}
	}
}

// readError returns the error that ends the connection, nil to continue.
func (c *Conn) readError(err error) error {
	bad := (*LineError)(nil)
	if !errors.As(err, &bad) {
		return err
	}
	if c.opts.BadLine == nil {
		return nil
	}
	return c.opts.BadLine(bad)
}

// finish is the error of Run for the error that ended reading.
func finish(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// answered passes an answer to its call. If no call waits for it, because it came late or
// twice, it is dropped.
func (c *Conn) answered(r Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.pending[r.RequestID]; ok {
		delete(c.pending, r.RequestID)
		answer <- r
	}
}

func (c *Conn) takenBack(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.serving[id]; ok {
		cancel(errTakenBack)
	}
}

// errTakenBack ends the handler of a request that the other side took back.
var errTakenBack = errors.New("the request was taken back")

// serve has a request handled and answered.
func (c *Conn) serve(ctx context.Context, m *ControlRequest) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	c.serving[m.RequestID] = cancel
	c.mu.Unlock()
	answer := func() {
		reply, err := c.handle(ctx, m.Request)
		c.mu.Lock()
		delete(c.serving, m.RequestID)
		c.mu.Unlock()
		if context.Cause(ctx) != errTakenBack && !errors.Is(err, ErrUnanswered) {
			_ = c.stream.Write(answerTo(m.RequestID, reply, err)) // Run reports a stream that is broken
		}
		cancel(nil)
		if c.opts.Answered != nil {
			c.opts.Answered(m.Request)
		}
	}
	if c.opts.Ordered != nil && c.opts.Ordered(m.Request) {
		answer()
		return
	}
	c.handlers.Go(answer)
}

func (c *Conn) handle(ctx context.Context, r Request) (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, fmt.Errorf("%s: panic: %v", r.Subtype(), p)
		}
	}()
	return c.opts.Handle(ctx, r)
}

func answerTo(id string, reply any, err error) *ControlResponse {
	r := Response{Subtype: "success", RequestID: id}
	if err == nil && reply != nil {
		r.Response, err = plainjson.Marshal(reply)
	}
	if err != nil {
		r = Response{Subtype: "error", RequestID: id, Error: err.Error()}
		if coded := (*ControlError)(nil); errors.As(err, &coded) {
			r.ErrorCode = coded.Code
		}
	}
	return &ControlResponse{Response: r}
}
