package tui

import (
	"time"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// replay shows the end of an earlier conversation.
func (a *app) replay(past []session.Entry) {
	if len(past) == 0 {
		return
	}
	results := map[string]*sched.Outcome{}
	for _, e := range past {
		for _, b := range e.Message.Content {
			if b.Type == model.ToolResult {
				results[b.UseID] = resultOf(e.Message, b)
			}
		}
	}
	for _, e := range past {
		for _, b := range e.Message.Content {
			a.replayed(e.Message.Role, b, results)
		}
	}
	a.show.add(&note{text: a.t("— end of the earlier conversation; session %s continues —", a.talk.State.Session()), quiet: true})
}

// resultOf is how a call went, as the journal has it.
func resultOf(m *session.Message, b model.Block) *sched.Outcome {
	out := &sched.Outcome{UseID: b.UseID, Result: tool.Result{Content: b.Content}}
	if b.IsError {
		out.Status = sched.Failed
	}
	why := m.Denied
	if _, ok := ask.Denied(card.Text(out)); why == nil && ok && b.IsError { // an older journal
		why = &session.Denied{Reason: "the user denied it"}
	}
	if why != nil {
		out.Status, out.Verdict = sched.Denied, tool.Verdict{Behavior: tool.Deny, Reason: why.Reason, Rule: why.Rule, Message: card.Text(out)}
	}
	if len(m.Output) > 0 {
		out.Result.Output = m.Output
	}
	return out
}

func (a *app) replayed(role model.Role, b model.Block, results map[string]*sched.Outcome) {
	switch {
	case b.Type == model.Text && role == model.User:
		if said := harness.Typed([]model.Block{b}); said != "" {
			a.show.add(&saidBlock{text: said})
			a.record("You", said)
		}
	case b.Type == model.Text:
		t := &text{stream: markdown.New(a.view().width, a.paint)}
		t.write(b.Text)
		t.close()
		a.record(answerTitle, b.Text)
		a.show.add(t)
	case b.Type == model.ToolUse && b.Name != todoTool:
		c := newCall(card.Of(a.talk.State.Tools(), b.ID, b.Name, b.Input))
		if out := results[b.ID]; out != nil {
			out.Tool, out.Input = b.Name, b.Input
			a.endCall(c, out)
		}
		c.close()
		a.show.add(c)
	}
}

// A turnBack is a message that the person can go back to before.
type turnBack struct {
	uuid   string // of the message
	before string // of the one before it; "" if there is none
	text   string
	when   time.Time
}
