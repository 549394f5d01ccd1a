package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/plainjson"
)

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
