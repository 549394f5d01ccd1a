package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/guard/questions"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// openQuestions are what a conversation waits for someone to answer: its front end, a hook, a
// classifier, or an observer. All of them only show a question and answer it. Here the first
// answer is written down, and what it grants takes effect.
type openQuestions struct {
	talk  *Conversation
	here  string // the name of the front end
	calls *sched.Questions
	forms questions.Table[formAnswer] // of MCP servers

	mu   sync.Mutex
	open map[string]openCall
}

// openCall is an open question about a call, and the journal that has it.
type openCall struct {
	*sched.Question
	journal *session.Session
}

// formAnswer is what someone answered an MCP server; by is "" if nobody did.
type formAnswer struct {
	mcp.Answer
	by        string
	elsewhere bool
}

func newQuestions(c *Conversation, here string) *openQuestions {
	o := &openQuestions{talk: c, here: here, open: map[string]openCall{}}
	o.calls = sched.NewQuestions(&sched.QuestionsOptions{NewID: session.NewUUID, Opened: o.opened, Settled: o.settled})
	return o
}

// person returns the front end's user as one who is named in the journal.
func (o *openQuestions) person(user sched.Asker) sched.Asker {
	return sched.AskerFunc(func(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
		v, err := user.Ask(ctx, c, question)
		v.By = cmp.Or(v.By, o.here)
		return v, err
	})
}

// opened writes a question down and shows it to the observers.
func (o *openQuestions) opened(ctx context.Context, q *sched.Question) error {
	journal := o.talk.Journal()
	q.Case.Restorable = o.talk.World.restorable(ctx, &q.Case)
	if err := journal.Append(ctx, session.Entry{Agent: q.Case.Call.Agent, Ask: askOf(q)}); err != nil {
		return fmt.Errorf("save the question: %w", err)
	}
	o.mu.Lock()
	o.open[q.Case.Question] = openCall{q, journal}
	o.mu.Unlock()
	o.talk.watched.ask(func(c Channel) { c.Ask(ctx, q) })
	return nil
}

// settled makes the grants of the answer that counts, and writes it down.
func (o *openQuestions) settled(ctx context.Context, q *sched.Question, v tool.Verdict, elsewhere bool) (tool.Verdict, error) {
	o.mu.Lock()
	journal := o.open[q.Case.Question].journal
	delete(o.open, q.Case.Question)
	o.mu.Unlock()
	if v.Behavior == tool.Allow {
		v = o.grant(ctx, v)
	}
	answer := &session.Answer{ID: q.Case.Question}
	if v.By != "" {
		answer.By, answer.Behavior = v.By, v.Behavior
	}
	if err := journal.Append(ctx, session.Entry{Agent: q.Case.Call.Agent, Answer: answer}); err != nil {
		return tool.Verdict{}, fmt.Errorf("save the answer: %w", err)
	}
	if elsewhere {
		o.talk.World.link.Tell(fmt.Sprintf("The question about %s was answered from %s: %s.", q.Case.Tool.UserName(), v.By, v.Behavior))
	}
	return v, nil
}

// grant makes the grants of an answer. If one cannot be made, the call is still allowed.
func (o *openQuestions) grant(ctx context.Context, v tool.Verdict) tool.Verdict {
	for _, g := range v.Grants {
		if err := o.talk.change(ctx, g); err != nil {
			o.talk.World.link.Emit(agent.Notice{Level: "warning", Text: "Could not change the permissions, so the call is allowed only once: " + err.Error()})
			if v.Rule != "" {
				v.Reason, v.Rule = "the user allowed it once", ""
			}
		} else if g.Change == tool.SetMode {
			o.inMode(g.Mode, v)
		}
	}
	v.Grants = nil
	return v
}

// inMode answers the other questions that a mode answers, as v answered one.
func (o *openQuestions) inMode(mode string, v tool.Verdict) {
	o.mu.Lock()
	list := slices.Collect(maps.Values(o.open))
	o.mu.Unlock()
	for _, q := range list {
		if q.Asked.AllowedIn == mode {
			o.calls.Answer(q.Case.Question, tool.Verdict{Behavior: tool.Allow, Reason: v.Reason, By: v.By})
		}
	}
}

// askOf is a question as the journal has it.
func askOf(q *sched.Question) *session.Ask {
	call := q.Case.Call
	digest := sha256.Sum256(call.Input)
	ask := &session.Ask{ID: q.Case.Question, CallID: call.ID, UseID: call.UseID, Tool: q.Case.Tool.Name, Reason: q.Asked.Reason, Input: hex.EncodeToString(digest[:])}
	if q.Case.Preview != nil {
		ask.Change = q.Case.Preview.Digest()
	}
	for _, s := range q.Asked.Suggestions {
		ask.Rules = append(ask.Rules, s.Rule)
	}
	return ask
}

// elicitFunc asks what an MCP server wants to know.
type elicitFunc = func(context.Context, mcp.Elicitation) (mcp.Answer, error)

// elicit asks the front end's user and the observers for what an MCP server wants to know.
func (o *openQuestions) elicit(person elicitFunc) elicitFunc {
	return func(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
		journal := o.talk.Journal()
		e.ID = session.NewUUID()
		var answered formAnswer
		var failed error // of writing it down
		unasked := make(chan error, 1)
		err := o.forms.Ask(ctx, e.ID, func(a formAnswer) {
			answered, failed = a, o.answered(context.WithoutCancel(ctx), journal, e, a)
		}, func(ctx context.Context) error {
			if err := journal.Append(ctx, session.Entry{Ask: &session.Ask{ID: e.ID, Tool: "mcp__" + e.Server, Reason: e.Message}}); err != nil {
				return fmt.Errorf("save the question: %w", err)
			}
			o.talk.watched.ask(func(c Channel) { c.Elicit(ctx, e) })
			return nil
		}, func(ctx context.Context) (formAnswer, bool) {
			a, err := person(ctx, e)
			unasked <- err
			return formAnswer{a, cmp.Or(a.By, o.here), false}, err == nil
		})
		switch {
		case err != nil || failed != nil:
			return mcp.Answer{}, cmp.Or(err, failed)
		case answered.by != "":
			return answered.Answer, nil
		case ctx.Err() != nil:
			return mcp.Answer{}, ctx.Err()
		}
		return mcp.Answer{}, <-unasked
	}
}

// answered writes the answer to an MCP server down.
func (o *openQuestions) answered(ctx context.Context, journal *session.Session, e mcp.Elicitation, a formAnswer) error {
	answer := &session.Answer{ID: e.ID, By: a.by}
	switch {
	case a.by == "":
	case a.Action == "accept":
		answer.Behavior = tool.Allow
	default:
		answer.Behavior = tool.Deny
	}
	if err := journal.Append(ctx, session.Entry{Answer: answer}); err != nil {
		return fmt.Errorf("save the answer: %w", err)
	}
	if a.elsewhere {
		o.talk.World.link.Tell(fmt.Sprintf("The question from %s was answered from %s.", e.Server, a.by))
	}
	return nil
}
