package tui

import (
	"regexp"
	"time"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// stopped are the beginnings of what the model reads of a call that was stopped, or that ran
// when its session ended.
var stopped = regexp.MustCompile(`^(Cancelled (before|while) it ran|The command was interrupted and stopped|\[[\w-]+ (was interrupted|never ran): the session ended)`)

// resultOf is how a call went, as the journal has it.
func resultOf(m *session.Message, b model.Block) *sched.Outcome {
	out := &sched.Outcome{UseID: b.UseID, Result: tool.Result{Content: b.Content}}
	if b.IsError {
		out.Status = sched.Failed
	}
	if b.IsError && stopped.MatchString(card.Text(out)) {
		out.Status = sched.Cancelled
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

// A turnBack is a message that the person can go back to before.
type turnBack struct {
	uuid   string // of the message
	before string // of the one before it; "" if there is none
	text   string
	when   time.Time
}
