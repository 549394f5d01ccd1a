package headless

import (
	"context"
	"fmt"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// An Observer reports a conversation of any front end as messages of the wire, and accepts
// requests about it. It does not report what is in the journal: observers read that
// themselves, so that nothing comes twice. It is safe for concurrent use, except Event.
type Observer struct {
	talk  *harness.Conversation
	tell  *teller
	table map[string]row
}

// NewObserver returns an observer of a conversation that sends its messages with send.
func NewObserver(talk *harness.Conversation, version string, send func(wire.Message)) *Observer {
	o := &Observer{talk: talk, tell: newTeller(send)}
	o.tell.facts = func(ev agent.TurnStarted) *wire.Init { return initMessage(talk, &Options{Version: version}, ev) }
	o.tell.partial, o.tell.states = true, true
	o.tell.reportCalls()
	o.tell.inSession(talk.Agent.Session())
	q := &requests{
		opts: &Options{Version: version}, opened: o.opened, driver: talk.Driver, tell: o.tell, began: time.Now(),
		settle: func(context.Context) {}, asked: func() int64 { return 0 }, // the front end itself knows more
	}
	o.table = tableOf(courseRequests(q), usageRequests(q), fileRequests(q), taskRequests(q), []row{
		about(q, func(ctx context.Context, talk *harness.Conversation, r *wire.RenameSession) (any, error) {
			return nil, talk.Rename(ctx, r.Title)
		}),
	})
	return o
}

func (o *Observer) opened() *harness.Conversation { return o.talk }

// Event reports what happens and is not in the journal.
func (o *Observer) Event(ev agent.Event) {
	switch ev := ev.(type) {
	case drive.CommandDone:
		o.tell.send(CommandAnswer(o.tell.sessionID(), ev))
	case agent.Said, agent.Added, agent.Compacted:
	case agent.Returned:
		o.tell.reports.ended(ev.Outcome.CallID)
	default:
		o.tell.tell(ev)
	}
}

// CommandAnswer is what those who watch a session are told of a command that needed no model.
func CommandAnswer(id string, done drive.CommandDone) *wire.Informational {
	text := done.Text
	if done.Err != nil {
		text = done.Err.Error()
	}
	return &wire.Informational{Stamp: wire.Stamp{UUID: session.NewUUID(), SessionID: id}, Level: "info", Label: "/" + done.Command, Content: text}
}

// Track takes in what happens while no one observes.
func (o *Observer) Track(ev agent.Event) {
	switch ev.(type) {
	case agent.Called, agent.Waiting, agent.Answered, agent.Returned:
		o.Event(ev)
	}
}

// Calls report the calls that have no result yet.
func (o *Observer) Calls() (all []wire.Message) {
	for _, m := range o.tell.reports.current() {
		m.Stamp = o.tell.stamp("")
		all = append(all, m)
	}
	return all
}

// Handle answers a control request.
func (o *Observer) Handle(ctx context.Context, r wire.Request) (any, error) {
	return handle(ctx, o.table, o.opened, r)
}

// Prompt sends a user message to the conversation. The result of its turn names it.
func (o *Observer) Prompt(u *wire.User) error {
	p, err := prompt(u)
	if err != nil {
		return err
	}
	if p.UUID != "" {
		o.tell.follow(p.UUID)
	}
	o.talk.Driver().Prompt(p)
	return nil
}

// Question is what observers are asked.
func (o *Observer) Question(q *sched.Question) *wire.CanUseTool {
	return new(hostAsker).request(q.Case, q.Asked)
}

// Verdict is what an answer means, given from some place; ok is false for an answer that
// decides nothing. It grants only what the question suggests.
func (o *Observer) Verdict(asked *wire.CanUseTool, a wire.PermissionAnswer, by string) (v tool.Verdict, ok bool) {
	switch a.Behavior {
	case wire.BehaviorAllow:
		v = allowed(a, "it was allowed from "+by)
		v.Grants = grants(a.UpdatedPermissions, func(u wire.PermissionUpdate) error {
			if what := NotSuggested(asked, u); what != "" {
				return fmt.Errorf("the question does not suggest %s", what)
			}
			return nil
		}, o.tell.warn)
	case wire.BehaviorDeny:
		v = refusal(a.Message)
		v.Reason, v.Interrupt = "it was denied from "+by, a.Interrupt
	default:
		return tool.Verdict{}, false
	}
	return v, true
}
