package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool"
)

// Before runs the PreToolUse hooks of a call.
func (r *Runner) Before(ctx context.Context, t *tool.Tool, c *tool.Call) (tool.Verdict, []string) {
	if !r.Has("PreToolUse") {
		return tool.Verdict{}, nil
	}
	return r.before(ctx, c, use(t, c), targetOf(t, c))
}

func (r *Runner) before(ctx context.Context, c *tool.Call, d PreToolUse, t target) (tool.Verdict, []string) {
	o := r.fire(ctx, c.Agent, d, t)
	notes := o.Notes
	if o.Conflict != nil {
		notes = append(notes, fmt.Sprintf("PreToolUse:%s hooks returned different inputs (%s); the last one is used.", c.Tool, strings.Join(o.Conflict, ", ")))
	}
	v := o.verdict(fmt.Sprintf("PreToolUse:%s hook error: ", c.Tool))
	if o.Stop {
		v.Behavior, v.Interrupt, v.Input, v.Reason = tool.Deny, true, nil, "a hook stopped the turn"
		v.Message = fmt.Sprintf("A PreToolUse:%s hook stopped the turn: %s", c.Tool, orNoReason(o.StopReason))
	}
	return v, notes
}

// After runs the PostToolUse hooks of a call that ran, or the PostToolUseFailure
// hooks of one that failed.
func (r *Runner) After(ctx context.Context, t *tool.Tool, c *tool.Call, result tool.Result) (*tool.Result, []string) {
	event := Event("PostToolUse")
	if result.Failed {
		event = "PostToolUseFailure"
	}
	if !r.Has(event) {
		return nil, nil
	}
	var d Detail = PostToolUse{PreToolUse: use(t, c), ToolResponse: response(result), DurationMS: c.Took.Milliseconds()}
	if result.Failed {
		d = PostToolUseFailure{PreToolUse: use(t, c), Error: result.Text(), DurationMS: c.Took.Milliseconds()}
	}
	o := r.fire(ctx, c.Agent, d, targetOf(t, c))
	notes := o.Notes
	if o.Blocked() {
		notes = append(notes, fmt.Sprintf("%s:%s hook blocking error: %s", event, c.Tool, orNoReason(o.Reason)))
	}
	var replacement *tool.Result
	if o.Output != nil && !result.Failed {
		replacement = replaced(result, o.Output)
	}
	if o.Stop {
		if replacement == nil {
			replacement = &result
		}
		replacement.Change = stopping(replacement.Change, fmt.Sprintf("a %s:%s hook stopped the turn: %s", event, c.Tool, orNoReason(o.StopReason)))
	}
	return replacement, notes
}

// stopping is a change that also ends the turn.
func stopping(c *tool.Change, why string) *tool.Change {
	var changed tool.Change
	if c != nil {
		changed = *c
	}
	changed.Stop = why
	return &changed
}

// Ask runs the PermissionRequest hooks of a call that someone has to decide about. If they
// have no opinion, neither does Ask. A call that needs a user's answer can only be denied by
// them.
func (r *Runner) Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	if !r.Has("PermissionRequest") {
		return tool.Verdict{}, nil
	}
	d := PermissionRequest{ToolName: c.Call.Tool, ToolInput: inputOf(c.Call), Suggestions: suggestions(question.Suggestions)}
	o := r.fire(ctx, c.Call.Agent, d, targetOf(c.Tool, c.Call))
	v := o.verdict(fmt.Sprintf("PermissionRequest:%s hook error: ", c.Call.Tool))
	if v.Behavior != tool.Allow && v.Behavior != tool.Deny {
		return tool.Verdict{}, nil
	}
	if v.Behavior == tool.Allow && question.NeedsPerson {
		return tool.Verdict{}, nil
	}
	v.Interrupt = o.Interrupt
	return v, nil
}

func orNoReason(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}

func targetOf(t *tool.Tool, c *tool.Call) target {
	names := []string{c.Tool}
	if t != nil {
		names = append(names, t.Aliases...)
	}
	return target{names: names, tool: t, call: c}
}

func use(t *tool.Tool, c *tool.Call) PreToolUse {
	d := PreToolUse{ToolName: c.Tool, ToolInput: inputOf(c), ToolUseID: c.UseID}
	if t != nil {
		if server, ok := strings.CutPrefix(t.Source, "mcp:"); ok {
			d.MCPServer = &MCPServer{server}
		}
	}
	return d
}

func inputOf(c *tool.Call) json.RawMessage {
	if len(c.Input) == 0 {
		return json.RawMessage("{}")
	}
	return c.Input
}

// response is a result as programs see it: the typed output, or else the content.
func response(r tool.Result) any {
	if r.Output != nil {
		return r.Output
	}
	return r.Content
}

// replaced is a result with another output. The model reads a string as it is, and anything
// else as JSON.
func replaced(r tool.Result, output json.RawMessage) *tool.Result {
	var text string
	if json.Unmarshal(output, &text) == nil {
		r.Content, r.Output = tool.Text(text).Content, text
		return &r
	}
	r.Content, r.Output = tool.Text(string(bytes.TrimSpace(output))).Content, output
	return &r
}

// destinations are the scopes of suggestions as on the wire.
var destinations = map[string]string{"local": "localSettings", "project": "projectSettings", "user": "userSettings"}

func suggestions(list []tool.Suggestion) []Suggestion {
	var all []Suggestion
	for _, s := range list {
		rule := SuggestedRule{ToolName: s.Rule}
		if name, content, ok := strings.Cut(s.Rule, "("); ok {
			rule = SuggestedRule{name, strings.TrimSuffix(content, ")")}
		}
		to := destinations[s.Scope]
		if to == "" {
			to = "session"
		}
		all = append(all, Suggestion{"addRules", []SuggestedRule{rule}, s.Behavior.String(), to})
	}
	return all
}
