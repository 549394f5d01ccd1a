package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A Channel lets others watch a conversation of a front end, and answer its questions. It
// must be safe for concurrent use.
type Channel interface {
	// Event is called with what happens, like the front end. It must not block.
	Event(agent.Event)
	// Ask asks the observers, present and future, until one of them, named by by, has
	// decided, or ctx ends.
	Ask(ctx context.Context, c tool.Case, question tool.Verdict) (v tool.Verdict, by string, err error)
	// Elicit asks the observers for what an MCP server wants to know, in the same way.
	Elicit(ctx context.Context, e mcp.Elicitation) (a mcp.Answer, by string, err error)
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

func (w *watched) close() error {
	if channel := w.channel.Swap(nil); channel != nil {
		return (*channel).Close()
	}
	return nil
}

// An openAsker asks the front end's user and the observers, and records that it does: the
// first answer counts.
type openAsker struct {
	person sched.Asker
	here   string // the name of the front end, for observers
	talk   *Conversation
}

// decision is an answer and where it came from.
type decision struct {
	v   tool.Verdict
	by  string
	err error
}

// Ask asks.
func (o *openAsker) Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	journal, id := o.talk.Journal(), session.NewUUID()
	c.Restorable = o.talk.World.restorable(ctx, &c)
	if err := journal.Append(ctx, session.Entry{Agent: c.Call.Agent, Ask: askOf(id, &c, &question)}); err != nil {
		return tool.Verdict{}, fmt.Errorf("save the question: %w", err)
	}
	d := o.race(ctx, c, question)
	settled := session.Answer{ID: id}
	if d.err == nil && (d.v.Behavior == tool.Allow || d.v.Behavior == tool.Deny) {
		settled.By, settled.Behavior = cmp.Or(d.v.By, d.by), d.v.Behavior
	}
	if err := journal.Append(context.WithoutCancel(ctx), session.Entry{Agent: c.Call.Agent, Answer: &settled}); err != nil && d.err == nil {
		return tool.Verdict{}, fmt.Errorf("save the answer: %w", err)
	}
	if settled.By != "" && d.by != o.here {
		o.talk.World.link.Tell(fmt.Sprintf("The question about %s was answered from %s: %s.", c.Tool.UserName(), settled.By, settled.Behavior))
	}
	return d.v, d.err
}

// race asks both at once. If the observers cannot be asked, the front end's user decides;
// if that user cannot be asked, it waits for no one.
func (o *openAsker) race(ctx context.Context, c tool.Case, question tool.Verdict) decision {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan decision, 2)
	go func() {
		d := decision{by: o.here, err: errors.New("the permission prompt ended without an answer")}
		defer func() {
			if p := recover(); p != nil {
				d.err = fmt.Errorf("the permission prompt crashed: %v", p)
			}
			answers <- d // also if the asker ends this goroutine
		}()
		d.v, d.err = o.person.Ask(ctx, c, question)
	}()
	if channel := o.talk.watched.channel.Load(); channel != nil {
		go func() {
			v, by, err := (*channel).Ask(ctx, c, question)
			answers <- decision{v, by, err}
		}()
	}
	for {
		select {
		case d := <-answers:
			if d.by == o.here || d.err == nil {
				return d
			}
		case <-ctx.Done():
			return decision{err: ctx.Err()}
		}
	}
}

// elicit asks the front end's user and the observers for what an MCP server wants to know:
// the first answer counts.
func (o *openAsker) elicit(person elicitFunc) elicitFunc {
	return func(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
		journal := o.talk.Journal()
		e.ID = session.NewUUID()
		if err := journal.Append(ctx, session.Entry{Ask: &session.Ask{ID: e.ID, Tool: "mcp__" + e.Server, Reason: e.Message}}); err != nil {
			return mcp.Answer{}, fmt.Errorf("save the question: %w", err)
		}
		a, by, err := o.raceElicit(ctx, e, person)
		settled := session.Answer{ID: e.ID}
		if err == nil {
			if settled.By, settled.Behavior = cmp.Or(a.By, by), tool.Deny; a.Action == "accept" {
				settled.Behavior = tool.Allow
			}
		}
		if failed := journal.Append(context.WithoutCancel(ctx), session.Entry{Answer: &settled}); failed != nil && err == nil {
			return mcp.Answer{}, fmt.Errorf("save the answer: %w", failed)
		}
		if settled.By != "" && by != o.here {
			o.talk.World.link.Tell(fmt.Sprintf("The question from %s was answered from %s.", e.Server, by))
		}
		return a, err
	}
}

// elicitFunc asks what an MCP server wants to know.
type elicitFunc = func(context.Context, mcp.Elicitation) (mcp.Answer, error)

// raceElicit asks both at once, as race does.
func (o *openAsker) raceElicit(ctx context.Context, e mcp.Elicitation, person elicitFunc) (mcp.Answer, string, error) {
	type answer struct {
		mcp.Answer
		by  string
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, 2)
	go func() {
		a, err := person(ctx, e)
		answers <- answer{a, o.here, err}
	}()
	if channel := o.talk.watched.channel.Load(); channel != nil {
		go func() {
			a, by, err := (*channel).Elicit(ctx, e)
			answers <- answer{a, by, err}
		}()
	}
	for {
		select {
		case a := <-answers:
			if a.by == o.here || a.err == nil {
				return a.Answer, a.by, a.err
			}
		case <-ctx.Done():
			return mcp.Answer{}, "", ctx.Err()
		}
	}
}

// askOf is a question as the journal has it.
func askOf(id string, c *tool.Case, question *tool.Verdict) *session.Ask {
	digest := sha256.Sum256(c.Call.Input)
	ask := &session.Ask{ID: id, CallID: c.Call.ID, UseID: c.Call.UseID, Tool: c.Tool.Name, Reason: question.Reason, Input: hex.EncodeToString(digest[:])}
	if c.Preview != nil {
		ask.Change = c.Preview.Digest()
	}
	for _, s := range question.Suggestions {
		ask.Rules = append(ask.Rules, s.Rule)
	}
	return ask
}

// here names a front end.
func (o *TalkOptions) here() string {
	switch {
	case o.Here != "":
		return o.Here
	case o.ByProgram:
		return "the program"
	}
	return "the terminal"
}
