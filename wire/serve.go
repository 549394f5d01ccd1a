package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/haftdev/haft/internal/plainjson"
)

// errTakenBack ends the handler of a request that the other side took back.
var errTakenBack = errors.New("the request was taken back")

// readError returns the error that ends the connection, nil to go on.
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

// answered hands an answer to its call. One that nobody waits for is dropped:
// it came late, or twice.
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
		if context.Cause(ctx) != errTakenBack {
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
