package hook

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/tool"
)

// stopping is a change that also ends the turn.
func stopping(c *tool.Change, why string) *tool.Change {
	var changed tool.Change
	if c != nil {
		changed = *c
	}
	changed.Stop = why
	return &changed
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
