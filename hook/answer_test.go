package hook_test

import (
	"context"
	"fmt"
	"github.com/haftdev/haft/internal/harness/project"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/tool"
)

// configured returns the hooks of one group in a settings file.
func configured(t *testing.T, event, group string) []hook.Hook {
	t.Helper()
	f, err := settings.Parse(settings.User, "f", fmt.Appendf(nil, `{"hooks": {%q: [%s]}}`, event, group))
	if err != nil {
		t.Fatal(err)
	}
	hooks := project.HooksOf(settings.Of(f).Hooks())
	if len(hooks) != 1 {
		t.Fatalf("%d hooks", len(hooks))
	}
	return hooks
}

// TestAGuardAnswersOrBlocks gives a guard each kind of output and set-up that cannot
// be understood: the call is denied and the error shows the line, unless the hook says
// on_error: continue.
func TestAGuardAnswersOrBlocks(t *testing.T) {
	const block = `{"decision":"block"}`
	tests := []struct {
		name, output string
		want         string // in the error; "" means that there is none
	}{
		{"a log line before the answer", "checking…\n" + block, `line 1: "checking…"`},
		{"a log line beside the answer", "INFO " + block, `line 1: "INFO {`},
		{"a log line after the answer", block + "\ndone", `line 2: "done"`},
		{"half an answer after a log line", "x\n" + block[:15], "before its answer"},
		{"a byte order mark", "\xef\xbb\xbf" + block, "byte order mark"},
		{"UTF-16", "\xff\xfe{\x00", "byte order mark"},
		{"a list", "[" + block + "]", `a list; it must be a single object: line 1: "[{`},
		{"two answers", block + block, "cannot be read"},
		{"a decision outside of its place", `{"permissionDecision":"deny"}`, "permissionDecision outside hookSpecificOutput"},
		{"a decision inside of another place", `{"hookSpecificOutput":{"continue":false}}`, "continue in hookSpecificOutput"},
		{"a misspelt field", `{"hookSpecificOutput":{"permissionDecison":"deny"}}`, "Did you mean permissionDecision"},
		{"a field of no answer", `{"action":"deny"}`, `the unknown field "action"`},
		{"a field twice", `{"decision":"block","decision":"approve"}`, "decision twice"},
		{"a flag that is a string", `{"continue":"false"}`, "continue must not be a JSON string"},
		{"a dictionary of Python", `{'decision': 'block'}`, "cannot be read"},
		{"a dictionary of Python after a log line", "x\n{'decision': 'block'}", "before its answer"},
		{"a word", "deny", "a bare word"},
		{"a word in quotes", `"block"`, "a bare word"},
		{"a misspelt answer to a request", `{"hookSpecificOutput":{"decision":{"behaviour":"deny"}}}`, "Did you mean behavior"},

		{"nothing", "", ""},
		{"plain text", "all 12 checks passed", ""},
		{"a log in brackets", "[INFO] fine", ""},
		{"a number", "0", ""},
		{"fields of Claude Code's that mean nothing here", `{"async":true,"asyncTimeout":5,"hookSpecificOutput":{"hookEventName":"PreToolUse","watchPaths":[]}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			if err := os.WriteFile(out, []byte(tt.output), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, onError := range []string{"", `, "on_error": "block"`, `, "on_error": "continue"`} {
				var seen runs
				hooks := configured(t, "PreToolUse", fmt.Sprintf(`{"hooks": [{"type": "command", "command": "cat %s"%s}]}`, out, onError))
				v, _ := newRunner(t, hooks, &hook.Options{Report: seen.report}).Before(t.Context(), bashTool, bash("{}"))
				want := tool.NoView
				if tt.want != "" && !strings.Contains(onError, "continue") {
					want = tool.Deny
				}
				if v.Behavior != want {
					t.Errorf("with%s: %v %q, want %v", onError, v.Behavior, v.Message, want)
				}
				if err := seen.list[0].Err; (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want one with %q", err, tt.want)
				}
			}
		})
	}
}

func TestAGuardThatIsSetUpWronglyBlocks(t *testing.T) {
	for name, group := range map[string]string{
		"a timeout that is a string":     `{"hooks": [{"type": "command", "command": "true", "timeout": "5"}]}`,
		"a type that haft does not run":  `{"hooks": [{"type": "prompt", "prompt": "x"}]}`,
		"a command that is a list":       `{"hooks": [{"type": "command", "command": ["true"]}]}`,
		"an on_error that is none":       `{"hooks": [{"type": "command", "command": "true", "on_error": "ignore"}]}`,
		"a matcher that is no string":    `{"matcher": ["Bash"], "hooks": [{"type": "command", "command": "true"}]}`,
		"a matcher that does not parse":  `{"matcher": "Bash(|Edit", "hooks": [{"type": "command", "command": "true"}]}`,
		"a lookahead":                    `{"matcher": "^(?!Read).*$", "hooks": [{"type": "command", "command": "true"}]}`,
		"a lookahead after a name":       `{"matcher": "Bash(?!Output)", "hooks": [{"type": "command", "command": "true"}]}`,
		"an if that no rule is":          `{"hooks": [{"type": "command", "command": "true", "if": "[["}]}`,
		"a program that does not exist":  `{"hooks": [{"type": "command", "command": "/no/such/guard"}]}`,
		"a server that does not answer":  `{"hooks": [{"type": "http", "url": "http://127.0.0.1:1/"}]}`,
		"a command that takes too long":  `{"hooks": [{"type": "command", "command": "sleep 60", "timeout": 0.2}]}`,
		"a command that fails otherwise": `{"hooks": [{"type": "command", "command": "exit 7"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var seen runs
			v, _ := newRunner(t, configured(t, "PreToolUse", group), &hook.Options{Report: seen.report}).Before(t.Context(), bashTool, bash("{}"))
			if v.Behavior != tool.Deny || len(seen.list) != 1 || !seen.list[0].Failed() || seen.list[0].Origin != "f:1" {
				t.Errorf("%v %q, runs %v", v.Behavior, v.Message, seen.list)
			}
			passing := strings.Replace(group, `"type":`, `"on_error": "continue", "type":`, 1)
			if strings.Contains(group, "on_error") {
				return
			}
			if v, _ := newRunner(t, configured(t, "PreToolUse", passing), nil).Before(t.Context(), bashTool, bash("{}")); v.Behavior != tool.NoView {
				t.Errorf("with on_error continue: %v %q", v.Behavior, v.Message)
			}
		})
	}
}

func TestAnErrorBlocksOnlyWhereAHookGuards(t *testing.T) {
	group := `{"hooks": [{"type": "command", "command": "exit 1"}]}`
	for _, c := range []struct {
		detail hook.Detail
		blocks bool
	}{
		{hook.UserPromptSubmit{Prompt: "x"}, true},
		{hook.Stop{}, true},
		{hook.Stop{StopHookActive: true}, false}, // once is enough: the model cannot fix the hook
		{hook.SubagentStop{}, true},
		{hook.SubagentStop{Stop: hook.Stop{StopHookActive: true}}, false},
		{hook.SessionStart{Source: "startup"}, false},
		{hook.PreCompact{Trigger: "auto"}, false},
		{hook.Notification{}, false},
	} {
		o := newRunner(t, configured(t, string(c.detail.Event()), group), nil).Fire(t.Context(), "", c.detail)
		if o.Blocked() != c.blocks || len(o.Runs) != 1 || !o.Runs[0].Failed() {
			t.Errorf("%#v: blocked %v, want %v; runs %v", c.detail, o.Blocked(), c.blocks, o.Runs)
		}
	}
	call := tool.Case{Tool: bashTool, Call: bash("{}")}
	if v, _ := newRunner(t, configured(t, "PermissionRequest", group), nil).Ask(t.Context(), call, tool.Verdict{}); v.Behavior != tool.Deny {
		t.Errorf("PermissionRequest: %v", v.Behavior)
	}
}

// TestAFunctionAnswersOrBlocks: what a program's callback answers is read as strictly as
// what a command prints.
func TestAFunctionAnswersOrBlocks(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   tool.Behavior
	}{
		{`{}`, tool.NoView}, {``, tool.NoView}, {`null`, tool.NoView}, {`{"async":true}`, tool.NoView},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`, tool.Allow},
		{`{"decision":"block"}`, tool.Deny},
		{`{"permissionDecision":"deny"}`, tool.Deny}, // in the wrong place
		{`{"hookSpecificOutput":{"permisionDecision":"deny"}}`, tool.Deny},
		{`{"hookSpecificOutput":{"permissionDecision":"no"}}`, tool.Deny},
		{`{"decision":"deny"}`, tool.Deny}, {`{"decision":true}`, tool.Deny}, {`[]`, tool.Deny}, {`"deny"`, tool.Deny}, {`false`, tool.Deny},
		{`{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"deny"}}`, tool.Deny},
	} {
		h := hook.Hook{Event: "PreToolUse", Name: "f", Func: func(context.Context, hook.Input) (hook.Output, error) { return hook.ReadAnswer([]byte(c.answer)) }}
		if v, _ := newRunner(t, []hook.Hook{h}, nil).Before(t.Context(), bashTool, bash(`{"command":"ls"}`)); v.Behavior != c.want {
			t.Errorf("%s: %v, want %v", c.answer, v.Behavior, c.want)
		}
	}
	after := hook.Hook{Event: "Notification", Name: "f", Func: func(context.Context, hook.Input) (hook.Output, error) { return hook.ReadAnswer([]byte(`{"x":1}`)) }}
	if o := newRunner(t, []hook.Hook{after}, nil).Fire(t.Context(), "", hook.Notification{}); o.Blocked() || !o.Runs[0].Failed() {
		t.Errorf("an event that guards nothing is blocked, or its fault is lost: %v", o.Runs)
	}
}

func TestTextForTheModelMayQuoteAnswers(t *testing.T) {
	group := `{"hooks": [{"type": "command", "command": "echo 'Hooks answer with \"decision\": \"block\".'"}]}`
	o := newRunner(t, configured(t, "UserPromptSubmit", group), nil).Fire(t.Context(), "", hook.UserPromptSubmit{Prompt: "x"})
	if o.Blocked() || len(o.Notes) != 1 {
		t.Errorf("blocked %v, notes %q, error %v", o.Blocked(), o.Notes, o.Runs[0].Err)
	}
}

func TestAHookMayRepeatItsInput(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	hooks := configured(t, "PreToolUse", fmt.Sprintf(`{"hooks": [{"type": "command", "command": "tee -a %s"}]}`, log))
	if v, _ := newRunner(t, hooks, nil).Before(t.Context(), bashTool, bash(`{"command":"ls"}`)); v.Behavior != tool.NoView {
		t.Errorf("%v %q", v.Behavior, v.Message)
	}
}

// TestAsyncHooksFinish closes a runner as soon as ten hooks have begun: all of them
// write what they have to, and one that does not end is ended and reported.
func TestAsyncHooksFinish(t *testing.T) {
	dir := t.TempDir()
	hooks := configured(t, "PostToolUse", `{"hooks": [{"type": "command", "async": true, "command": "x=$(cat); sleep 0.1; echo \"$x\" >> log"}]}`)
	r := hook.New(hooks, &hook.Options{Project: dir, Patience: time.Minute})
	for range 10 {
		r.After(t.Context(), bashTool, bash("{}"), tool.Text("x"))
	}
	r.Close()
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if n := strings.Count(string(log), "\n"); err != nil || n != 10 {
		t.Errorf("%d of 10 entries, %v", n, err)
	}

	var seen runs
	endless := configured(t, "PostToolUse", `{"hooks": [{"type": "command", "async": true, "command": "exec sleep 300"}]}`)
	r = hook.New(endless, &hook.Options{Report: seen.report, Patience: 50 * time.Millisecond})
	r.After(t.Context(), bashTool, bash("{}"), tool.Text("x"))
	r.Close()
	if len(seen.list) != 1 || !seen.list[0].Failed() || !strings.Contains(seen.list[0].Err.Error(), "still running 50ms after") {
		t.Errorf("runs %+v", seen.list)
	}
}
