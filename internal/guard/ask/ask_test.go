package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/tool"
)

func question() (tool.Case, tool.Verdict) {
	return tool.Case{Call: &tool.Call{Tool: "Bash", Input: []byte(`{"command":"make"}`)}},
		tool.Verdict{Behavior: tool.Ask, Reason: "no rule allows it", Suggestions: []tool.Suggestion{{Rule: "Bash(make:*)"}}}
}

func TestAPromptTool(t *testing.T) {
	for _, c := range []struct {
		name, says string
		want       tool.Verdict
		wrong      bool
	}{
		{"allow", `{"behavior":"allow"}`, tool.Verdict{Behavior: tool.Allow, Reason: "the permission prompt tool allowed it"}, false},
		{"allow something else", `{"behavior":"allow","updatedInput":{"command":"ls"}}`, tool.Verdict{Behavior: tool.Allow, Reason: "the permission prompt tool allowed it", Input: json.RawMessage(`{"command":"ls"}`)}, false},
		{"deny", `{"behavior":"deny","message":"no","interrupt":true}`, tool.Verdict{Behavior: tool.Deny, Reason: "the permission prompt tool denied it", Message: "no", Interrupt: true}, false},
		{"an unknown word", `{"behavior":"maybe"}`, tool.Verdict{}, true},
		{"no JSON", `sure`, tool.Verdict{}, true},
	} {
		cs, q := question()
		got, err := ask.PromptTool{Run: func(_ context.Context, in json.RawMessage) (string, error) {
			if !strings.Contains(string(in), `"tool_name":"Bash"`) {
				t.Errorf("asked with %s", in)
			}
			return c.says, nil
		}}.Ask(t.Context(), cs, q)
		if (err != nil) != c.wrong {
			t.Errorf("%s: %v", c.name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestAClassifierAllowsWhatItFindsSafeAndNothingElse(t *testing.T) {
	classified := &tool.Tool{Name: "Bash", Classify: func(c *tool.Call) string { return string(c.Input) }}
	silent := &tool.Tool{Name: "Mute"}
	for _, c := range []struct {
		name  string
		on    bool
		tool  *tool.Tool
		rule  string
		input string
		want  tool.Behavior
	}{
		{"safe", true, classified, "", "safe", tool.Allow},
		{"not safe", true, classified, "", "rm", tool.NoView},
		{"broken", true, classified, "", "broken", tool.NoView},
		{"another mode", false, classified, "", "safe", tool.NoView},
		{"a rule wants a person", true, classified, "Bash(git push:*)", "safe", tool.NoView},
		{"a tool that says nothing", true, silent, "", "safe", tool.NoView},
		{"a call that says nothing", true, classified, "", "", tool.NoView},
	} {
		classifier := ask.Classifier{On: func() bool { return c.on }, Safe: func(_ context.Context, _, text string) (bool, error) {
			if text == "broken" {
				return true, errors.New("no model")
			}
			return text == "safe", nil
		}}
		got, err := classifier.Ask(t.Context(), tool.Case{Tool: c.tool, Call: &tool.Call{Input: []byte(c.input)}}, tool.Verdict{Rule: c.rule})
		if got.Behavior != c.want || (err != nil) != (c.input == "broken") {
			t.Errorf("%s: %s, %v, want %s", c.name, got.Behavior, err, c.want)
		}
	}
}
