package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/tool"
)

// says is a function hook that answers with JSON, after a while.
func says(event hook.Event, answer string, after time.Duration) hook.Hook {
	return hook.Hook{Event: event, Name: answer, Func: func(ctx context.Context, in hook.Input) (hook.Output, error) {
		time.Sleep(after)
		var out hook.Output
		return out, json.Unmarshal([]byte(answer), &out)
	}}
}

// specific is an answer of a PreToolUse hook.
func specific(fields string) string { return `{"hookSpecificOutput": {` + fields + `}}` }

func TestAnswersArePutTogether(t *testing.T) {
	decide := func(what, why string) string {
		return specific(fmt.Sprintf(`"permissionDecision": %q, "permissionDecisionReason": %q`, what, why))
	}
	change := func(what, input string) string {
		return specific(fmt.Sprintf(`"permissionDecision": %q, "updatedInput": %s`, what, input))
	}
	tests := []struct {
		name    string
		answers []string
		want    hook.Outcome
	}{
		{"nobody has a view", []string{`{}`, `{}`}, hook.Outcome{}},
		{"one allows", []string{`{}`, decide("allow", "a")}, hook.Outcome{Behavior: tool.Allow, Reason: "a"}},
		{"ask goes over allow", []string{decide("allow", "a"), decide("ask", "b"), decide("allow", "c")}, hook.Outcome{Behavior: tool.Ask, Reason: "b"}},
		{"deny goes over all, with all its reasons", []string{decide("deny", "a"), decide("ask", "b"), decide("allow", "c"), decide("deny", "d")}, hook.Outcome{Behavior: tool.Deny, Reason: "a\nd"}},
		{"context is joined in order", []string{specific(`"additionalContext": "one"`), specific(`"additionalContext": "two"`)},
			hook.Outcome{Notes: []string{"PreToolUse hook additional context: one", "PreToolUse hook additional context: two"}}},
		{"a changed input", []string{change("allow", `{"a": 1}`), `{}`}, hook.Outcome{Behavior: tool.Allow, Input: json.RawMessage(`{"a": 1}`)}},
		{"the same change twice is no conflict", []string{change("allow", `{"a": 1, "b": 2}`), change("allow", `{"b":2,"a":1}`)}, hook.Outcome{Behavior: tool.Allow, Input: json.RawMessage(`{"b":2,"a":1}`)}},
		{"of two changes the last counts and is allowed by its hook", []string{change("allow", `{"a": 1}`), change("allow", `{"a": 2}`)},
			hook.Outcome{Behavior: tool.Allow, Input: json.RawMessage(`{"a": 2}`), Conflict: []string{change("allow", `{"a": 1}`), change("allow", `{"a": 2}`)}}},
		{"who allowed another number does not allow this one, however close", []string{change("allow", `{"a": 9007199254740993}`), specific(`"updatedInput": {"a": 9007199254740992}`)},
			hook.Outcome{Input: json.RawMessage(`{"a": 9007199254740992}`), Conflict: []string{change("allow", `{"a": 9007199254740993}`), specific(`"updatedInput": {"a": 9007199254740992}`)}}},
		{"who allowed another input does not allow this one", []string{decide("allow", "a"), specific(`"updatedInput": {"a": 2}`)}, hook.Outcome{Input: json.RawMessage(`{"a": 2}`)}},
		{"a question stays with the changed input", []string{change("ask", `{"a": 1}`), decide("allow", "a")}, hook.Outcome{Behavior: tool.Ask, Input: json.RawMessage(`{"a": 1}`)}},
		{"a denied call keeps its input", []string{change("allow", `{"a": 1}`), decide("deny", "no")}, hook.Outcome{Behavior: tool.Deny, Reason: "no"}},
		{"null is no change", []string{change("allow", `null`)}, hook.Outcome{Behavior: tool.Allow}},
		{"the first to stop stops", []string{`{"continue": true}`, `{"continue": false, "stopReason": "a"}`, `{"continue": false, "stopReason": "b"}`}, hook.Outcome{Stop: true, StopReason: "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Whichever hook is faster, the outcome is the same.
				for seed := range uint64(20) {
					random := rand.New(rand.NewPCG(seed, 1))
					var hooks []hook.Hook
					for _, a := range tt.answers {
						hooks = append(hooks, says("PreToolUse", a, time.Duration(random.IntN(1000))*time.Millisecond))
					}
					got := newRunner(t, hooks, nil).Fire(t.Context(), "", hook.PreToolUse{ToolName: "Bash"})
					for _, run := range got.Runs {
						if run.Err != nil {
							t.Fatal(run.Err)
						}
					}
					if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(hook.Outcome{}, "Runs", "Hook", "Origin")); diff != "" {
						t.Fatalf("outcome (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

func TestHooksRunSideBySideWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hooks []hook.Hook
		for i := range 100 {
			h := says("Stop", `{}`, time.Second)
			h.Name = fmt.Sprint(i)
			hooks = append(hooks, h)
		}
		start := time.Now()
		o := newRunner(t, hooks, &hook.Options{Parallel: 50}).Fire(t.Context(), "", hook.Stop{})
		if took := time.Since(start); took != 2*time.Second || len(o.Runs) != 100 {
			t.Errorf("%d runs took %s, want 100 in 2s", len(o.Runs), took)
		}
	})
}

func TestAFunctionGetsTheUsualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newRunner(t, []hook.Hook{says("Stop", `{}`, time.Hour)}, nil).Fire(t.Context(), "", hook.Stop{})
		if err := o.Runs[0].Err; err == nil || err.Error() != "it took longer than 1m0s" || o.Runs[0].Duration != time.Minute {
			t.Errorf("error %v after %s", err, o.Runs[0].Duration)
		}
		time.Sleep(time.Hour) // until the function is gone too
	})
}

func TestWhichHooksAreMeant(t *testing.T) {
	git := func(rule string, _ *tool.Tool, c *tool.Call) (bool, error) {
		if rule == "Bash(oops *)" {
			return false, fmt.Errorf("oops")
		}
		prefix := strings.TrimSuffix(strings.TrimPrefix(rule, "Bash("), "*)")
		return strings.Contains(string(c.Input), `"`+prefix), nil
	}
	tests := []struct {
		matcher, only, tool string
		want                string
	}{
		{"", "", "Bash", "runs"},
		{"*", "", "mcp__x__y", "runs"},
		{"Bash", "", "Bash", "runs"},
		{"Bash", "", "BashOutput", "not"},
		{"bash", "", "Bash", "not"},
		{"Shell", "", "Bash", "runs"}, // an alias
		{"Edit|Bash", "", "Bash", "runs"},
		{"Edit | Bash", "", "Bash", "runs"},
		{"Edit|Write", "", "Bash", "not"},
		{"mcp__.*", "", "mcp__x__y", "runs"},
		{"mcp__(a|x)__.*", "", "mcp__x__y", "runs"},
		{"mcp__(a|b)__.*", "", "mcp__x__y", "not"},
		{"^B.sh$", "", "Bash", "runs"},
		{"Notebook(Edit|Read)", "", "NotebookEdit", "runs"},
		{"Bash(git *)", "", "Bash", "runs"},
		{"Bash(npm *)", "", "Bash", "not"},
		{"Edit|Bash(git *)", "", "Bash", "runs"},
		{"Bash(git *)", "", "Edit", "not"},
		{"Bash", "Bash(git *)", "Bash", "runs"},
		{"Bash", "Bash(npm *)", "Bash", "not"},
		{"*", "Bash(git *)", "Edit", "not"},
		{"Bash(oops *)", "", "Bash", "fails"},
		{"[", "", "Bash", "fails"},
		{"Bash|[", "", "Edit", "fails"},
	}
	for _, tt := range tests {
		h := says("PreToolUse", `{"decision": "block"}`, 0)
		h.Matcher, h.If = tt.matcher, tt.only
		var seen runs
		used := &tool.Tool{Name: tt.tool}
		if tt.tool == "Bash" {
			used = bashTool
		}
		call := &tool.Call{Tool: tt.tool, Input: json.RawMessage(`{"command":"git status"}`)}
		v, _ := newRunner(t, []hook.Hook{h}, &hook.Options{Match: git, Report: seen.report}).Before(t.Context(), used, call)
		got := "not"
		switch {
		case v.Behavior == tool.Deny:
			got = "runs"
		case len(seen.list) == 1 && seen.list[0].Err != nil:
			got = "fails"
		}
		if got != tt.want {
			t.Errorf("matcher %q, if %q, tool %s: %s, want %s", tt.matcher, tt.only, tt.tool, got, tt.want)
		}
	}
}

func TestARuleWithoutAMatchFunctionMeansItsTool(t *testing.T) {
	h := says("PreToolUse", `{"decision": "block"}`, 0)
	h.Matcher = "Bash(npm *)"
	r := newRunner(t, []hook.Hook{h}, nil)
	if v, _ := r.Before(t.Context(), bashTool, bash(`{"command":"git"}`)); v.Behavior != tool.Deny {
		t.Errorf("verdict %v for the tool", v.Behavior)
	}
	if v, _ := r.Before(t.Context(), &tool.Tool{}, &tool.Call{Tool: "Edit"}); v.Behavior != tool.NoView {
		t.Errorf("verdict %v for another tool", v.Behavior)
	}
}

func TestMatchersOfOtherEvents(t *testing.T) {
	tests := []struct {
		matcher string
		detail  hook.Detail
		want    bool
	}{
		{"startup", hook.SessionStart{Source: "startup"}, true},
		{"startup|resume", hook.SessionStart{Source: "clear"}, false},
		{"logout", hook.SessionEnd{Reason: "logout"}, true},
		{"auto", hook.PreCompact{Trigger: "manual"}, false},
		{"permission_prompt", hook.Notification{Type: "permission_prompt"}, true},
		{"Explore", hook.SubagentStart{AgentType: "Explore"}, true},
		{"Explore", hook.SubagentStop{AgentType: "Plan"}, false},
		{"anything", hook.UserPromptSubmit{Prompt: "x"}, true},
		{"anything", hook.Stop{}, true},
	}
	for _, tt := range tests {
		h := says(tt.detail.Event(), `{}`, 0)
		h.Matcher = tt.matcher
		o := newRunner(t, []hook.Hook{h}, nil).Fire(t.Context(), "", tt.detail)
		if got := len(o.Runs) == 1; got != tt.want {
			t.Errorf("%s %q: runs %v, want %v", tt.detail.Event(), tt.matcher, got, tt.want)
		}
	}
}
