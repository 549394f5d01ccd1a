package headless

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// byHost is the reason of a verdict that the program gave.
const byHost = "the program that controls the session decided"

// wasAsked is part of the reason of a denial if there was no usable answer.
const wasAsked = " that was asked "

// A hostAsker asks the program about calls that the rules leave open. A program that does
// not answer, sends nonsense or is gone has not allowed anything.
type hostAsker struct {
	who    string // is asked, for people
	named  bool   // the questions have the ids of the journal, as other CLIs do not
	call   func(context.Context, wire.Request, any) error
	before func(context.Context) // lets the program hear what happened before
	states func(waiting bool)
	may    func(wire.PermissionUpdate) error // whether the program may change this
	warn   func(string)
}

// Ask asks the program.
func (h *hostAsker) Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	h.before(ctx)
	h.states(true)
	defer h.states(false)
	var answer wire.PermissionAnswer
	r := h.request(c, question)
	if !h.named {
		r.QuestionID = ""
	}
	if err := h.call(ctx, r, &answer); err != nil {
		if ctx.Err() != nil {
			return tool.Verdict{}, err // another program decided, or the turn has ended
		}
		return h.unanswered(question, "gave no answer: "+plainError(err)), nil
	}
	switch answer.Behavior {
	case wire.BehaviorAllow:
		v := allowed(answer, byHost)
		v.Grants, v.By = grants(answer.UpdatedPermissions, h.may, h.warn), answer.By
		return v, nil
	case wire.BehaviorDeny:
		v := refusal(answer.Message)
		v.Interrupt, v.By = answer.Interrupt, answer.By
		return v, nil
	}
	return h.unanswered(question, fmt.Sprintf("answered with the behavior %q, which is neither allow nor deny", answer.Behavior)), nil
}

// unanswered is the verdict if the program that was asked has not decided.
func (h *hostAsker) unanswered(question tool.Verdict, why string) tool.Verdict {
	text := h.who + wasAsked + why
	return tool.Verdict{Behavior: tool.Deny, Message: text, Reason: text, Unasked: true, Suggestions: question.Suggestions}
}

// allowed is the verdict of an answer that allows a call, without what it grants.
func allowed(answer wire.PermissionAnswer, reason string) tool.Verdict {
	v := tool.Verdict{Behavior: tool.Allow, Reason: reason}
	if len(answer.UpdatedInput) > 0 && string(answer.UpdatedInput) != "null" {
		v.Input = answer.UpdatedInput
	}
	return v
}

func refusal(message string) tool.Verdict {
	if message == "" {
		message = "The user doesn't want this call to run. Ask how to proceed, or try something else."
	}
	return tool.Verdict{Behavior: tool.Deny, Message: message, Reason: byHost}
}

// plainError is the message of the other side without our own wrapping.
func plainError(err error) string {
	var control *wire.ControlError
	if errors.As(err, &control) {
		return control.Message
	}
	return err.Error()
}

func (h *hostAsker) request(c tool.Case, question tool.Verdict) *wire.CanUseTool {
	about := card.Of(c.Call.Tools, c.Call.UseID, c.Tool.Name, c.Call.Input)
	about.Path = card.PathOf(c.Tool, c.Call)
	r := &wire.CanUseTool{
		QuestionID: c.Question, ToolName: c.Tool.Name, DisplayName: c.Tool.UserName(), Input: c.Call.Input, ToolUseID: c.Call.UseID, AgentID: c.Call.Agent,
		Description: about.Detail, DecisionReason: question.Reason, BlockedPath: about.Path, Change: ChangeOf(c.Preview),
		RequiresUserInteraction: c.Tool.Name == "AskUserQuestion" || c.Tool.Name == "ExitPlanMode",
	}
	if c.Unclear != nil {
		r.ChangeUnknown = c.Unclear.Error()
	}
	if server, ok := strings.CutPrefix(c.Tool.Source, "mcp:"); ok {
		r.MCPServer = &wire.MCPServerRef{Name: server}
	}
	if question.AllowedIn != "" {
		// Alone, as the reference suggests it: programs accept all suggestions or none.
		r.PermissionSuggestions = []wire.PermissionUpdate{{Type: "setMode", Mode: question.AllowedIn, Destination: "session"}}
		return r
	}
	for _, s := range question.Suggestions {
		name, content := splitRule(s.Rule)
		r.PermissionSuggestions = append(r.PermissionSuggestions, wire.PermissionUpdate{
			Type: "addRules", Rules: []wire.PermissionRule{{ToolName: name, RuleContent: content}},
			Behavior: s.Behavior.String(), Destination: destination(s.Scope),
		})
	}
	return r
}

// splitRule takes a rule such as Bash(git *) apart.
func splitRule(rule string) (name, content string) {
	name, content, ok := strings.Cut(rule, "(")
	if !ok {
		return rule, ""
	}
	return name, strings.TrimSuffix(content, ")")
}

func joinRule(r wire.PermissionRule) string {
	if r.RuleContent == "" {
		return r.ToolName
	}
	return r.ToolName + "(" + r.RuleContent + ")"
}

func destination(scope string) string {
	switch scope {
	case "user", "project", "local":
		return scope + "Settings"
	}
	return "session"
}
