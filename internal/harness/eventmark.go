package harness

import (
	"context"
	"time"

	"github.com/haftdev/haft/agent"
)

// A Mark goes through the stream of events, to show that all events before it were read. A
// front end that ranges over Run calls Reached when it comes to one.
type Mark struct {
	agent.Notice // an event; one without a text is not shown
	reached      chan struct{}
}

// Reached tells the waiting goroutine that the front end has come this far.
func (m Mark) Reached() { close(m.reached) }

// markTime bounds how long a question waits for what happened before it.
const markTime = time.Second

// CatchUp waits until the front end has read everything so far, so that a user who decides
// about a call has seen it. Wake makes an idle front end read.
func (c *Conversation) CatchUp(ctx context.Context, wake func()) {
	m := Mark{reached: make(chan struct{})}
	c.Agent.Emit(m)
	wake()
	late := time.NewTimer(markTime)
	defer late.Stop()
	select {
	case <-m.reached:
	case <-ctx.Done():
	case <-late.C:
	}
}
