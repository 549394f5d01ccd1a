package haft

import (
	"context"
	"sync"

	"github.com/haftdev/haft/wire"
)

// A Question is a call that the rules leave open, as a message among the others; see
// Options.Questions. The call waits for its answer. Questions are safe for concurrent use.
type Question struct {
	*ToolRequest
	answered chan *Permission
	once     sync.Once
	over     <-chan struct{}
}

// Tag is what the question is on the wire.
func (q *Question) Tag() wire.Tag { return wire.Tag{Type: "control_request", Subtype: "can_use_tool"} }

// Answer decides about the call. The first answer counts; nil denies.
func (q *Question) Answer(p *Permission) {
	q.once.Do(func() { q.answered <- p })
}

// Done is closed when no answer is needed any more: it was given, or the turn was interrupted.
func (q *Question) Done() <-chan struct{} { return q.over }

// ask puts a question among the messages and waits for its answer.
func (c *Client) ask(ctx context.Context, r *ToolRequest) (*Permission, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := &Question{ToolRequest: r, answered: make(chan *Permission, 1), over: ctx.Done()}
	c.inbox.put(q)
	select {
	case p := <-q.answered:
		return p, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
