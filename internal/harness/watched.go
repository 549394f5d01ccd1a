package harness

import (
	"context"
	"sync/atomic"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/sched"
)

// A Channel lets others watch a conversation of a front end, and answer its questions. It
// must be safe for concurrent use.
type Channel interface {
	// Event is called with what happens, like the front end. It must not block.
	Event(agent.Event)
	// Ask shows the observers, present and future, a question until ctx ends. They answer it
	// by [Conversation.Answer]. It must not block.
	Ask(ctx context.Context, q *sched.Question)
	// Elicit shows them what an MCP server wants to know, in the same way. They answer it by
	// [Conversation.AnswerElicitation].
	Elicit(ctx context.Context, e mcp.Elicitation)
	// Close ends it before the journal is closed.
	Close() error
}

// watched is the channel of a conversation; it holds nil if there is none.
type watched struct{ channel atomic.Pointer[Channel] }

func (w *watched) open(c *Conversation, make func(*Conversation) Channel) {
	if make == nil || c.Journal().Dir() == "" { // nothing is written down that others could watch
		return
	}
	if channel := make(c); channel != nil {
		w.channel.Store(&channel)
	}
}

// event shows an event to the observers.
func (w *watched) event(ev agent.Event) {
	if channel := w.channel.Load(); channel != nil {
		(*channel).Event(ev)
	}
}

// ask shows something to the observers, if there can be any.
func (w *watched) ask(show func(Channel)) {
	if channel := w.channel.Load(); channel != nil {
		show(*channel)
	}
}

func (w *watched) close() error {
	if channel := w.channel.Swap(nil); channel != nil {
		return (*channel).Close()
	}
	return nil
}
