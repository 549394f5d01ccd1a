package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/internal/text/visible"
	exitplan "github.com/haftdev/haft/internal/tools/plan"
	"github.com/haftdev/haft/tool"
)

// An asker asks the client's user about calls that the rules leave open. A client that
// does not answer, answers nonsense or is gone has not allowed anything.
type asker struct{ s *session }

// Answers to a question, as the client gives them back.
const (
	answerOnce    = "allow"
	answerSession = "allow-session"
	answerAlways  = "allow-always"
	answerEdits   = "allow-edits"
	answerDeny    = "deny"
)

// Ask asks the user.
func (a *asker) Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	a.s.drive.CatchUp(ctx)
	switch c.Call.Tool {
	case "AskUserQuestion":
		return a.s.questions(ctx, c)
	case "ExitPlanMode":
		if text := exitplan.Text(c.Call); text != "" {
			return a.plan(ctx, c, text)
		}
	}
	if c.Preview != nil && len(c.Preview.Files) > 0 {
		a.s.previews.Store(c.Call.UseID, c.Preview) // it is shown again with what became of it
	}
	what := card.PreviewOf(c, nil)
	u := a.s.describe(c.Call.Tools, c.Tool, c.Call)
	var places []location
	u.Content, places = approvable(c, what, question)
	if len(places) > 0 {
		u.Locations = places
	}
	choice, err := a.s.ask(ctx, u, a.options(what, question))
	if err != nil {
		return unanswered(ctx, question, err)
	}
	switch choice {
	case answerOnce:
		a.approved(c)
		return tool.Verdict{Behavior: tool.Allow, Reason: "the user allowed it once"}, nil
	case answerEdits:
		a.approved(c)
		return ask.InMode(acceptEdits, "the user allowed all edits"), nil
	case answerSession:
		a.approved(c)
		return ask.Always(question.Suggestions, "session"), nil
	case answerAlways:
		a.approved(c)
		return ask.Always(question.Suggestions, "local"), nil
	}
	return tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: ask.Denial("")}, nil
}

// ask asks one question about a call and returns the option that the user chose.
func (s *session) ask(ctx context.Context, u callUpdate, options []permissionOption) (string, error) {
	u.Status = statusPending
	var reply permissionReply
	if err := s.srv.conn.call(ctx, methodPermission, permissionRequest{s.id, u, options}, &reply); err != nil {
		return "", err
	}
	switch reply.Outcome.Outcome {
	case "cancelled":
		return "", errCancelled
	case "selected":
		if slices.ContainsFunc(options, func(o permissionOption) bool { return o.ID == reply.Outcome.Option }) {
			return reply.Outcome.Option, nil
		}
	}
	return "", fmt.Errorf("%q is not one of the options", visible.Indented(reply.Outcome.Outcome+" "+reply.Outcome.Option))
}

// errCancelled says that the user stopped the turn instead of an answer.
var errCancelled = errors.New("the turn was cancelled")

// unanswered is the verdict on a call about which the user has not decided.
func unanswered(ctx context.Context, question tool.Verdict, err error) (tool.Verdict, error) {
	switch {
	case ctx.Err() != nil:
		return tool.Verdict{}, err // another program decided, or the turn is over
	case errors.Is(err, errCancelled):
		return tool.Verdict{Behavior: tool.Deny, Reason: "the user stopped the turn", Message: "The user stopped the turn before this call was made.", Interrupt: true}, nil
	}
	text := "the editor gave no valid answer: " + err.Error()
	return tool.Verdict{Behavior: tool.Deny, Message: text, Reason: text, Unasked: true, Suggestions: question.Suggestions}, nil
}

// options are the answers that the terminal has, too. Reasons for a denial have no field
// in the protocol: the user says them next. Denying comes first for a call that deletes or
// loses something.
func (a *asker) options(what card.Preview, question tool.Verdict) []permissionOption {
	list := []permissionOption{{answerOnce, "Allow this once", allowOnce}}
	if question.AllowedIn == acceptEdits {
		list = append(list, permissionOption{answerEdits, "Allow all edits this session (mode acceptEdits)", allowAlways})
	}
	if rule := ask.Rules(question.Suggestions); rule != "" && !question.NeedsPerson {
		rule = visible.Indented(rule)
		list = append(list,
			permissionOption{answerSession, "Allow for this session: " + rule, allowAlways},
			permissionOption{answerAlways, "Allow always: " + rule + " in " + visible.Indented(a.s.talk.RulesFile("local")), allowAlways})
	}
	deny := permissionOption{answerDeny, "Deny", rejectOnce}
	if what.Loss(nil) != "" {
		return append([]permissionOption{deny}, list...)
	}
	return append(list, deny)
}

// approvable is everything that a user must see to decide: what would run, what would
// change, and why they are asked.
func approvable(c tool.Case, what card.Preview, question tool.Verdict) (list []any, places []location) {
	say := func(text string) { list = append(list, content(textOf(text))) }
	if loss := what.Loss(nil); loss != "" {
		say("**" + loss + "**")
	}
	if question.Message != "" && question.NeedsPerson {
		say(visible.Text(question.Message))
	}
	if what.Text != "" && what.Text != "{}" {
		language := "json"
		if c.Tool != nil && c.Tool.Command != nil {
			language = "sh"
		}
		say(fence(language, what.Text))
	}
	if what.Note != "" {
		say(what.Note)
	}
	changes, places := diffs(c.Preview)
	list = append(list, changes...)
	var why []string
	if question.Reason != "" {
		why = append(why, visible.Indented(question.Reason))
	}
	if question.Rule != "" {
		why = append(why, visible.Indented("("+question.Rule+" in "+question.Origin+")"))
	}
	if c.Call.Agent != "" {
		why = append(why, "(sub-agent "+visible.Indented(c.Call.Agent)+")")
	}
	if len(why) > 0 {
		say("Asked because " + strings.Join(why, " ") + ".")
	}
	return list, places
}

// approved tells that the call runs now.
func (a *asker) approved(c tool.Case) {
	a.s.update(callUpdate{Update: updateCallChange, ID: c.Call.UseID, Status: statusInProgress})
}

// acceptEdits is the mode in which edits inside the project need no approval.
const acceptEdits = "acceptEdits"

// plan asks whether the user agrees to a plan.
func (a *asker) plan(ctx context.Context, c tool.Case, text string) (tool.Verdict, error) {
	u := a.s.describe(c.Call.Tools, c.Tool, c.Call)
	u.Content = []any{content(textOf(visible.Text(text)))}
	choice, err := a.s.ask(ctx, u, []permissionOption{
		{answerEdits, "Approve; edits need no further approval", allowAlways},
		{answerOnce, "Approve; ask about each edit", allowOnce},
		{answerDeny, "Not yet: keep planning", rejectOnce},
	})
	if err != nil {
		return unanswered(ctx, tool.Verdict{}, err)
	}
	mode := "default"
	switch choice {
	case answerDeny:
		return tool.Verdict{Behavior: tool.Deny, Reason: "the user has not approved the plan yet", Message: ask.Denial("")}, nil
	case answerEdits:
		mode = acceptEdits
	}
	return ask.InMode(mode, "the user approved the plan"), nil
}
