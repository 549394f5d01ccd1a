package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

var (
	_ sched.Hooks = (*hook.Runner)(nil)
	_ sched.Asker = (*hook.Runner)(nil)
)

func TestCallsOfServersAndAgentsAreToldAlike(t *testing.T) {
	var got []string
	record := func(event hook.Event) hook.Hook {
		return hook.Hook{Event: event, Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
			text, err := json.Marshal(in)
			got = append(got, string(text))
			return hook.Output{}, err
		}}
	}
	r := newRunner(t, []hook.Hook{record("PreToolUse"), record("PostToolUse"), record("PostToolUseFailure"), record("PermissionRequest")}, &hook.Options{
		Common: func(agent string) hook.Common {
			return hook.Common{SessionID: "s", AgentID: agent, AgentType: "Explore"}
		},
	})
	used := &tool.Tool{Name: "mcp__db__query", Source: "mcp:db"}
	call := &tool.Call{ID: "1", UseID: "u", Tool: "mcp__db__query", Input: json.RawMessage(`{"q":1}`), Agent: "a", Session: &tool.Session{Mode: "plan"}}
	r.Before(t.Context(), used, call)
	r.After(t.Context(), used, call, tool.Result{Content: tool.Text("hi").Content, Output: map[string]int{"rows": 2}})
	r.After(t.Context(), used, call, tool.Text("hi"))
	r.After(t.Context(), used, call, tool.Failure("no rows"))
	if _, err := r.Ask(t.Context(), tool.Case{Tool: used, Call: call}, tool.Verdict{Suggestions: []tool.Suggestion{{Rule: "Bash(git diff:*)", Behavior: tool.Allow, Scope: "local"}, {Rule: "mcp__db", Behavior: tool.Allow, Scope: "session"}}}); err != nil {
		t.Fatal(err)
	}
	begin := `{"session_id":"s","transcript_path":"","cwd":"","permission_mode":"plan","agent_id":"a","agent_type":"Explore","hook_event_name":`
	same := `"tool_name":"mcp__db__query","tool_input":{"q":1},"tool_use_id":"u","mcp_server":{"name":"db"}`
	want := []string{
		begin + `"PreToolUse",` + same + `}`,
		begin + `"PostToolUse",` + same + `,"tool_response":{"rows":2},"duration_ms":0}`,
		begin + `"PostToolUse",` + same + `,"tool_response":[{"type":"text","text":"hi"}],"duration_ms":0}`,
		begin + `"PostToolUseFailure",` + same + `,"error":"no rows","is_interrupt":false,"duration_ms":0}`,
		begin + `"PermissionRequest","tool_name":"mcp__db__query","tool_input":{"q":1},"permission_suggestions":[` +
			`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git diff:*"}],"behavior":"allow","destination":"localSettings"},` +
			`{"type":"addRules","rules":[{"toolName":"mcp__db"}],"behavior":"allow","destination":"session"}]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

func TestAfterACall(t *testing.T) {
	tests := []struct {
		name, answer string
		failed       bool
		result       *tool.Result
		notes        []string
	}{
		{"no objection", `{}`, false, nil, nil},
		{"context", specific(`"additionalContext": "mind the gap"`), false, nil, []string{"PostToolUse:Bash hook additional context: mind the gap"}},
		{"a block keeps the result", `{"decision": "block", "reason": "format it"}`, false, nil, []string{"PostToolUse:Bash hook blocking error: format it"}},
		{"another text", specific(`"updatedToolOutput": "clean"`), false, &tool.Result{Content: tool.Text("clean").Content, Output: "clean", Change: &tool.Change{Mode: "plan"}}, nil},
		{"another value", specific(`"updatedToolOutput": {"a": 1}`), false,
			&tool.Result{Content: tool.Text(`{"a": 1}`).Content, Output: json.RawMessage(`{"a": 1}`), Change: &tool.Change{Mode: "plan"}}, nil},
		{"a stop", `{"continue": false, "stopReason": "enough"}`, false,
			&tool.Result{Content: tool.Text("x").Content, Change: &tool.Change{Mode: "plan", Stop: "a PostToolUse:Bash hook stopped the turn: enough"}}, nil},
		{"a failure with context", specific(`"additionalContext": "try again"`), true, nil, []string{"PostToolUseFailure:Bash hook additional context: try again"}},
		{"a failure stays one", specific(`"updatedToolOutput": "fine"`), true, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRunner(t, []hook.Hook{says("PostToolUse", tt.answer, 0), says("PostToolUseFailure", tt.answer, 0)}, nil)
			result, notes := r.After(t.Context(), bashTool, bash("{}"), tool.Result{Content: tool.Text("x").Content, Failed: tt.failed, Change: &tool.Change{Mode: "plan"}})
			if diff := cmp.Diff(tt.result, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPermissionHookAnswers(t *testing.T) {
	tests := []struct {
		name, answer string
		want         tool.Verdict
	}{
		{"no view", `{}`, tool.Verdict{}},
		{"allow", specific(`"decision": {"behavior": "allow"}`), tool.Verdict{Behavior: tool.Allow, Reason: "hook h", Origin: "f:1"}},
		{"allow another input", specific(`"decision": {"behavior": "allow", "updatedInput": {"a": 1}}`), tool.Verdict{Behavior: tool.Allow, Reason: "hook h", Origin: "f:1", Input: json.RawMessage(`{"a": 1}`)}},
		{"deny", specific(`"decision": {"behavior": "deny", "message": "no", "interrupt": true}`),
			tool.Verdict{Behavior: tool.Deny, Message: "PermissionRequest:Bash hook error: no", Reason: "hook h", Origin: "f:1", Interrupt: true}},
		{"an answer that is none", specific(`"decision": {"behavior": "perhaps"}`),
			tool.Verdict{Behavior: tool.Deny, Message: `PermissionRequest:Bash hook error: the required hook h failed: its decision must be allow or deny, not "perhaps"`, Reason: "hook h", Origin: "f:1"}},
		{"a question decides nothing", specific(`"permissionDecision": "ask"`), tool.Verdict{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := says("PermissionRequest", tt.answer, 0)
			h.Name, h.Origin = "h", "f:1"
			got, err := newRunner(t, []hook.Hook{h}, nil).Ask(t.Context(), tool.Case{Tool: bashTool, Call: bash("{}")}, tool.Verdict{Behavior: tool.Ask})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPermissionHookDoesNotStandInForAPerson(t *testing.T) {
	for answer, want := range map[string]tool.Behavior{"allow": tool.NoView, "deny": tool.Deny} {
		h := says("PermissionRequest", specific(`"decision": {"behavior": "`+answer+`"}`), 0)
		got, err := newRunner(t, []hook.Hook{h}, nil).Ask(t.Context(), tool.Case{Tool: bashTool, Call: bash("{}")}, tool.Verdict{Behavior: tool.Ask, NeedsPerson: true})
		if err != nil || got.Behavior != want {
			t.Errorf("%s: %s, %v, want %s", answer, got.Behavior, err, want)
		}
	}
}

// The pipeline asks hooks before every effect, whoever calls and wherever the tool
// comes from.
func TestHooksStandBeforeEveryEffect(t *testing.T) {
	type note struct {
		Text string `json:"text"`
	}
	var written []string
	write := func(name, source string) tool.Tool {
		return tool.New(tool.Def[note, string]{
			Name: name, Source: source, Description: "Writes a note.",
			Run: func(_ context.Context, _ *tool.Call, in note) (string, error) {
				written = append(written, in.Text)
				return "written", nil
			},
		})
	}
	set := tool.NewSet(nil, []tool.Tool{write("Note", "")}, []tool.Tool{write("mcp__x__note", "mcp:x")}, nil)
	command := `in=$(cat)
case $in in
*secret*) echo "no secrets" >&2; exit 2;;
*change*) echo '{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"text": "changed"}, "additionalContext": "see"}}';;
*break*) echo '{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"txt": 1}}}';;
esac`
	runner := newRunner(t, []hook.Hook{{Event: "PreToolUse", Command: command}}, nil)
	judge := sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		if c.Hook.Behavior == tool.NoView {
			return tool.Verdict{Behavior: tool.Allow}
		}
		return c.Hook
	})
	for _, name := range []string{"Note", "mcp__x__note"} {
		for _, agent := range []string{"", "agent1"} {
			written = nil
			var got []string
			batch := sched.New(&sched.Options{Judge: judge, Hooks: runner}).Start(t.Context(), &sched.BatchOptions{Tools: set, Agent: agent})
			for _, text := range []string{"plain", "secret", "change", "break"} {
				batch.Add(text, name, []byte(`{"text":"`+text+`"}`))
			}
			batch.End()
			for out := range batch.Outcomes() {
				got = append(got, out.Status.String())
			}
			if diff := cmp.Diff([]string{"plain", "changed"}, written); diff != "" {
				t.Errorf("%s of %q: written (-want +got):\n%s", name, agent, diff)
			}
			if diff := cmp.Diff([]string{"succeeded", "denied", "succeeded", "invalid"}, got); diff != "" {
				t.Errorf("%s of %q: outcomes (-want +got):\n%s", name, agent, diff)
			}
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(`{"continue": false, "stopReason": "x", "hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"a": 1}, "decision": {"behavior": "deny"}}}`)
	f.Fuzz(func(t *testing.T, answer string) {
		h := hook.Hook{Event: "PreToolUse", Block: true, Func: func(context.Context, hook.Input) (out hook.Output, err error) {
			return out, json.Unmarshal([]byte(answer), &out)
		}}
		v, _ := newRunner(t, []hook.Hook{h}, nil).Before(t.Context(), bashTool, bash("{}"))
		if v.Input != nil && !json.Valid(v.Input) {
			t.Errorf("an input that is no JSON: %q", v.Input)
		}
		if !json.Valid([]byte(answer)) && v.Behavior != tool.Deny {
			t.Errorf("a broken answer does not block: %v", v)
		}
	})
}

// A call that no hook is for must cost next to nothing.
func BenchmarkBefore(b *testing.B) {
	many := make([]hook.Hook, 100)
	for i := range many {
		many[i] = hook.Hook{Event: "PreToolUse", Matcher: "Edit|Write|mcp__.*", Command: "true"}
	}
	for name, hooks := range map[string][]hook.Hook{"none": nil, "100 for others": many} {
		b.Run(name, func(b *testing.B) {
			r := newRunner(b, hooks, nil)
			call := bash("{}")
			b.ReportAllocs()
			for b.Loop() {
				r.Before(b.Context(), bashTool, call)
			}
		})
	}
}

// A hook that judges a change gets every file of it, with the lines of those that have any.
func TestAHookIsShownEveryKindOfChange(t *testing.T) {
	var got []string
	h := hook.Hook{Event: "PreToolUse", Preview: true, Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
		for _, f := range in.Detail.(hook.PreToolUse).Preview.Files {
			got = append(got, fmt.Sprintf("%s %s, %d bytes, binary %t, %d hunks", filepath.Base(f.Path), f.Change, f.Size, f.Binary, strings.Count(f.Diff, "@@ -")))
		}
		return hook.Output{}, nil
	}}
	text, binary := tool.NewVersion(0o644, []byte("one\n"), []byte("one\n")), tool.NewVersion(0o644, []byte{0}, nil)
	change := &tool.Preview{Files: []tool.FileChange{
		{Path: "/p/added", After: text},
		{Path: "/p/deleted", Before: text},
		{Path: "/p/changed", Before: text, After: tool.NewVersion(0o600, []byte("two\n"), []byte("two\n"))},
		{Path: "/p/image", After: binary},
		{Path: "/p/removed-image", Before: binary},
		{Path: "/p/folded", After: text, Folded: "generated"},
	}}
	c := tool.Case{Tool: bashTool, Call: bash("{}"), Preview: change, Looked: true}
	if v, _ := newRunner(t, []hook.Hook{h}, nil).Effects(t.Context(), c); v.Behavior == tool.Deny {
		t.Fatal(v.Reason)
	}
	want := []string{
		"added added, 4 bytes, binary false, 1 hunks",
		"deleted deleted, 0 bytes, binary false, 1 hunks",
		"changed changed, 4 bytes, binary false, 1 hunks",
		"image added, 1 bytes, binary true, 0 hunks",
		"removed-image deleted, 0 bytes, binary true, 0 hunks",
		"folded added, 4 bytes, binary false, 0 hunks",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A function has no exit code, and a call without input has an empty object as its input.
func TestACallWithoutInput(t *testing.T) {
	var input string
	var seen runs
	h := hook.Hook{Event: "PreToolUse", Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
		input = string(in.Detail.(hook.PreToolUse).ToolInput)
		return hook.Output{}, nil
	}}
	newRunner(t, []hook.Hook{h}, &hook.Options{Report: seen.report}).Before(t.Context(), bashTool, bash(""))
	if input != "{}" || len(seen.list) != 1 || seen.list[0].ExitCode != -1 {
		t.Errorf("input %q, runs %+v", input, seen.list)
	}
}
