// Package ask holds those who answer what the rules leave open: a tool that an SDK
// user appoints, a classifier. Each satisfies the scheduler's Asker and is safe for
// concurrent use. The front ends that ask people share its words.
//
// A question is always decided: where nobody can answer, the scheduler denies.
package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool"
)

// A PromptTool asks by calling a tool, which the official SDKs name with
// --permission-prompt-tool. Run calls it with the question as its input and
// returns its text, one JSON object with behavior, and updatedInput or message.
type PromptTool struct {
	Run func(ctx context.Context, input json.RawMessage) (string, error)
}

// Ask calls the tool.
func (p PromptTool) Ask(ctx context.Context, c tool.Case, _ tool.Verdict) (tool.Verdict, error) {
	question, err := json.Marshal(map[string]any{"tool_name": c.Call.Tool, "input": c.Call.Input, "tool_use_id": c.Call.UseID})
	if err != nil {
		return tool.Verdict{}, fmt.Errorf("ask the permission prompt tool: %w", err)
	}
	answer, err := p.Run(ctx, question)
	if err != nil {
		return tool.Verdict{}, fmt.Errorf("ask the permission prompt tool: %w", err)
	}
	var a struct {
		Behavior     string          `json:"behavior"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
		Message      string          `json:"message"`
		Interrupt    bool            `json:"interrupt"`
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		return tool.Verdict{}, fmt.Errorf("the permission prompt tool did not answer in JSON: %w", err)
	}
	switch a.Behavior {
	case "allow":
		return tool.Verdict{Behavior: tool.Allow, Reason: "the permission prompt tool allowed it", Input: a.UpdatedInput}, nil
	case "deny":
		return tool.Verdict{Behavior: tool.Deny, Reason: "the permission prompt tool denied it", Message: a.Message, Interrupt: a.Interrupt}, nil
	}
	return tool.Verdict{}, fmt.Errorf("the permission prompt tool answered %q instead of allow or deny", a.Behavior)
}

// Always is the verdict of a user who allows a call and those like it, by the suggested
// rules, in a scope: session, local, project or user.
func Always(suggested []tool.Suggestion, scope string) tool.Verdict {
	v := tool.Verdict{Behavior: tool.Allow, Reason: "the user allowed it permanently", Rule: Rules(suggested)}
	if scope == "session" {
		v.Reason = "the user allowed it for this session"
	}
	keep := tool.Grant{Change: tool.AddRules, Behavior: tool.Allow, Scope: scope}
	for _, s := range suggested {
		keep.Rules = append(keep.Rules, s.Rule)
	}
	v.Grants = []tool.Grant{keep}
	return v
}

// InMode is the verdict of a user who allows a call, and a permission mode from now on.
func InMode(mode, reason string) tool.Verdict {
	return tool.Verdict{Behavior: tool.Allow, Reason: reason, Grants: []tool.Grant{{Change: tool.SetMode, Mode: mode}}}
}

// Rules are the suggested rules in one line.
func Rules(suggested []tool.Suggestion) string {
	texts := make([]string, len(suggested))
	for i, s := range suggested {
		texts[i] = s.Rule
	}
	return strings.Join(texts, ", ")
}

// Denial is what the model reads when a user has denied a call, with what they
// said about it, if anything.
func Denial(why string) string {
	if why == "" {
		return denied + " Do not try to do it another way; ask what they would like instead."
	}
	return denied + saying + why
}

const (
	denied = "The user denied this call."
	saying = " They say: "
)

// Denied reads a [Denial]: what the user said, and whether the text is one.
func Denied(text string) (why string, ok bool) {
	rest, ok := strings.CutPrefix(text, denied)
	why, _ = strings.CutPrefix(rest, saying)
	if why == rest { // it only says what to do
		why = ""
	}
	return why, ok
}
