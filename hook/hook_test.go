package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/haftdev/haft/internal/harness/project"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/tool"
)

// TestMain fails if goroutines are left: a hook must never hold anything.
func TestMain(m *testing.M) {
	code := m.Run()
	for deadline := time.Now().Add(3 * time.Second); code == 0 && left() != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, "goroutines are left:\n"+left())
			code = 1
		}
	}
	os.Exit(code)
}

// left returns the stacks of goroutines that hooks have left.
func left() string {
	stacks := make([]byte, 1<<20)
	var ours []string
	for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "haft/hook.") || strings.Contains(stack, "os/exec") || strings.Contains(stack, "net/http") {
			ours = append(ours, stack)
		}
	}
	return strings.Join(ours, "\n\n")
}

// newRunner returns a runner that is closed when the test ends.
func newRunner(t testing.TB, hooks []hook.Hook, opts *hook.Options) *hook.Runner {
	r := hook.New(hooks, opts)
	t.Cleanup(r.Close)
	return r
}

// runs collects reports.
type runs struct {
	mu   sync.Mutex
	list []hook.Run
}

func (r *runs) report(run hook.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, run)
}

func bash(input string) *tool.Call {
	return &tool.Call{ID: "call1", UseID: "toolu_1", Tool: "Bash", Input: json.RawMessage(input)}
}

var bashTool = &tool.Tool{Name: "Bash", Aliases: []string{"Shell"}}

func TestWhatACommandSays(t *testing.T) {
	tests := []struct {
		name, command string
		want          tool.Behavior
		message       string // of the verdict, or of the error
		broken        bool
	}{
		{"nothing", `true`, tool.NoView, "", false},
		{"plain text", `echo fine`, tool.NoView, "", false},
		{"an empty answer", `echo '{}'`, tool.NoView, "", false},
		{"allow", `echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "ok"}}'`, tool.Allow, "ok", false},
		{"ask", `echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}'`, tool.Ask, "sure?", false},
		{"deny", `echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}'`, tool.Deny, "PreToolUse:Bash hook error: no", false},
		{"defer", `echo '{"hookSpecificOutput": {"permissionDecision": "defer"}}'`, tool.NoView, "", false},
		{"the older approve", `echo '{"decision": "approve", "reason": "ok"}'`, tool.Allow, "ok", false},
		{"the older block", `echo '{"decision": "block", "reason": "no"}'`, tool.Deny, "PreToolUse:Bash hook error: no", false},
		{"exit code 2", `echo no way >&2; exit 2`, tool.Deny, "PreToolUse:Bash hook error: [echo no way >&2; exit 2]: no way", false},
		{"exit code 2 without a word", `exit 2`, tool.Deny, "PreToolUse:Bash hook error: [exit 2]: no reason given", false},
		{"an answer to stop", `echo '{"continue": false, "stopReason": "enough"}'`, tool.Deny, "A PreToolUse:Bash hook stopped the turn: enough", false},
		{"the input it got", `read -r x; [[ $x == *'"tool_input":{"command":"ls"}'* ]] && exit 2`, tool.Deny, "PreToolUse:Bash hook error: [read -r x; [[ $x == *'\"tool_input\":{\"command\":\"ls\"}'* ]] && exit 2]: no reason given", false},

		{"exit code 1", `echo oops >&2; exit 1`, tool.NoView, "exit status 1: oops", true},
		{"exit code 1 with an answer", `echo '{"decision": "block"}'; exit 1`, tool.NoView, "exit status 1", true},
		{"a program that is not there", `/no/such/program`, tool.NoView, "exit status 127: bash: line 1: /no/such/program: No such file or directory", true},
		{"a script that python cannot open", `python3 /no/such/hook.py`, tool.NoView, "it could not be started: ", true},
		{"a script that perl cannot open", `perl /no/such/hook.pl`, tool.NoView, "it could not be started: Can't open perl script \"/no/such/hook.pl\": No such file or directory", true},
		{"a script that dash cannot open", `dash nosuch.sh`, tool.NoView, "it could not be started: dash: 0: cannot open nosuch.sh: No such file", true},
		{"a command that bash cannot parse", `if then`, tool.NoView, "it could not be started: bash: -c: line 1: syntax error near unexpected token `then'", true},
		{"a signal", `kill -9 $$`, tool.NoView, "signal: killed", true},
		{"half an answer", `echo '{"decision": '`, tool.NoView, "its answer cannot be read: unexpected end of JSON input", true},
		{"an answer of the wrong type", `echo '{"decision": 1}'`, tool.NoView, "its answer cannot be read: ", true},
		{"an unknown decision", `echo '{"decision": "maybe"}'`, tool.NoView, `its decision must be approve or block, not "maybe"`, true},
		{"an unknown permission", `echo '{"hookSpecificOutput": {"permissionDecision": "yes"}}'`, tool.NoView, `its permissionDecision must be allow, deny, ask or defer, not "yes"`, true},
		{"an answer for another event", `echo '{"hookSpecificOutput": {"hookEventName": "Stop"}}'`, tool.NoView, "its answer is for Stop, not for PreToolUse", true},
		{"an input that is none", `echo '{"hookSpecificOutput": {"updatedInput": "x"}}'`, tool.NoView, "its updatedInput must be an object", true},
		{"too much", `head -c 1500000 /dev/zero`, tool.NoView, "it printed 451424 bytes more than the limit of 1048576", true},
		{"more time than it has", `sleep 100`, tool.NoView, "it took longer than 300ms", true},
	}
	shell := needtest.Program(t, "bash")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			program, _, _ := strings.Cut(tt.command, " ")
			if slices.Contains([]string{"python3", "perl", "dash"}, program) {
				needtest.Program(t, program)
			}
			for _, block := range []bool{false, true} {
				var seen runs
				h := hook.Hook{Event: "PreToolUse", Matcher: "Bash", Command: tt.command, Block: block, Origin: "f:1"}
				if strings.HasPrefix(tt.command, "sleep") {
					h.Timeout = 300 * time.Millisecond
				}
				verdict, _ := newRunner(t, []hook.Hook{h}, &hook.Options{Report: seen.report, Project: t.TempDir()}).Before(t.Context(), bashTool, bash(`{"command":"ls"}`))
				if len(seen.list) != 1 {
					t.Fatalf("%d runs are reported", len(seen.list))
				}
				run := seen.list[0]
				if !tt.broken {
					if verdict.Behavior != tt.want || verdict.Message != tt.message || run.Err != nil {
						t.Errorf("verdict %v %q, error %v; want %v %q", verdict.Behavior, verdict.Message, run.Err, tt.want, tt.message)
					}
					continue
				}
				want := tool.NoView
				if block {
					want = tool.Deny
				}
				if run.Err == nil || !strings.HasPrefix(strings.ReplaceAll(run.Err.Error(), shell, "bash"), tt.message) {
					t.Errorf("error %v, want %s", run.Err, tt.message)
				}
				if verdict.Behavior != want || block && !strings.Contains(verdict.Message, "the required hook") {
					t.Errorf("on_error block %v: verdict %v %q, want %v", block, verdict.Behavior, verdict.Message, want)
				}
			}
		})
	}
}

// A model that knows the wording of a broken hook must not get past one that works.
func TestAnEchoOfTheModelsWordsStaysADenial(t *testing.T) {
	tests := []struct{ name, command, words string }{
		{"python's words about another file", `jq -r .tool_input.command >&2; exit 2`, "python3: can't open file '/no/such/x.py': [Errno 2] No such file or directory"},
		{"words about another file of the same name", `sh guard.py; sed 's/.*"command":"\([^"]*\)".*/\1/' >&2; exit 2`, "sh: 0: cannot open /no/such/guard.py: x"},
		{"python's words about a file that is there", `: guard.py; cat guard.py >&2; exit 2`, ""},
		{"the shell's words about a command that it can parse", `echo "bash: -c: line 1: syntax error near unexpected token" >&2; exit 2`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			command := tt.command
			if strings.HasPrefix(tt.command, "jq") { // without jq: the input holds the words
				command = `sed 's/.*"command":"\([^"]*\)".*/\1/' >&2; exit 2`
			}
			said := "python3: can't open file '" + dir + "/guard.py': [Errno 2] No such file or directory"
			if err := os.WriteFile(filepath.Join(dir, "guard.py"), []byte(said), 0o644); err != nil {
				t.Fatal(err)
			}
			r := newRunner(t, []hook.Hook{{Event: "PreToolUse", Command: command}}, &hook.Options{Project: dir})
			input, err := json.Marshal(map[string]string{"command": tt.words})
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := r.Before(t.Context(), bashTool, bash(string(input))); v.Behavior != tool.Deny {
				t.Errorf("verdict %v %q, want a denial", v.Behavior, v.Message)
			}
		})
	}
}

func TestProcessesNeverHoldACall(t *testing.T) {
	alive := func(pid string) bool {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		return err == nil && !strings.Contains(string(state), ") Z ")
	}
	tests := []struct {
		name, command string
		timeout       time.Duration
		gone          bool // the processes whose ids are in the file pids
		broken        bool
	}{
		{"a program in the background that holds the pipes", `sleep 300 & echo $! >pids; echo '{}'`, 0, false, false},
		{"a whole group that is out of time", `sleep 300 & echo $! >pids; sleep 300`, 200 * time.Millisecond, true, true},
		{"a command that ignores every polite signal", `trap '' TERM INT HUP; echo $$ >pids; while :; do sleep 1; done`, 200 * time.Millisecond, true, true},
		{"a command that does not read its input", `exec <&-; echo '{}'`, 0, false, false},
		{"a command that waits for more input than there is", `cat >/dev/null; echo '{}'`, 0, false, false},
		{"endless output", `yes`, 300 * time.Millisecond, false, true},
		{"endless errors", `yes >&2`, 300 * time.Millisecond, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var seen runs
			r := newRunner(t, []hook.Hook{{Event: "PreToolUse", Command: tt.command, Timeout: tt.timeout}}, &hook.Options{Project: dir, Report: seen.report})
			large, err := json.Marshal(map[string]string{"command": strings.Repeat("x", 1<<20)})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			r.Before(t.Context(), bashTool, bash(string(large)))
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if (seen.list[0].Err != nil) != tt.broken {
				t.Errorf("error %v", seen.list[0].Err)
			}
			if len(seen.list[0].Stderr) > 16<<10 {
				t.Errorf("%d bytes of errors are kept", len(seen.list[0].Stderr))
			}
			pids, _ := os.ReadFile(filepath.Join(dir, "pids"))
			for _, pid := range strings.Fields(string(pids)) {
				for deadline := time.Now().Add(5 * time.Second); tt.gone && alive(pid); {
					if time.Now().After(deadline) {
						t.Fatalf("process %s is still there", pid)
					}
					time.Sleep(time.Millisecond)
				}
				if p := atoi(pid); !tt.gone && p > 1 && alive(pid) {
					if proc, err := os.FindProcess(p); err == nil {
						proc.Kill()
					}
				}
			}
		})
	}
}

func atoi(s string) (n int) {
	fmt.Sscan(s, &n)
	return n
}

func TestCancellingKillsTheHook(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRunner(t, []hook.Hook{{Event: "PreToolUse", Command: "echo >started; sleep 300"}}, &hook.Options{Project: dir})
	done := make(chan tool.Verdict)
	go func() {
		v, _ := r.Before(ctx, bashTool, bash("{}"))
		done <- v
	}()
	for {
		if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if v := <-done; v.Behavior != tool.NoView {
		t.Errorf("verdict %v", v)
	}
}

func TestTheEnvironmentOfACommand(t *testing.T) {
	dir := t.TempDir()
	environ := []string{"PATH=" + os.Getenv("PATH"), "PLAIN=1", "GITHUB_TOKEN=t", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "CLAUDE_CODE_OAUTH_TOKEN=c", "ANTHROPIC_MODEL=m"}
	run := func(env ...string) []string {
		h := hook.Hook{Event: "UserPromptSubmit", Command: `env | grep -E 'PLAIN|TOKEN|KEY|MODEL|PROJECT_DIR' | sort`, Env: env}
		o := newRunner(t, []hook.Hook{h}, &hook.Options{Project: dir, Environ: environ}).Fire(t.Context(), "", hook.UserPromptSubmit{})
		if len(o.Notes) != 1 {
			t.Fatalf("notes: %q", o.Notes)
		}
		return strings.Split(strings.TrimPrefix(o.Notes[0], "UserPromptSubmit hook success: "), "\n")
	}
	want := []string{"ANTHROPIC_MODEL=m", "CLAUDE_PROJECT_DIR=" + dir, "GITHUB_TOKEN=t", "HAFT_PROJECT_DIR=" + dir, "PLAIN=1"}
	if diff := cmp.Diff(want, run()); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append([]string{"ANTHROPIC_API_KEY=a"}, want...), run("ANTHROPIC_API_KEY")); diff != "" {
		t.Errorf("environment of a hook that names a key (-want +got):\n%s", diff)
	}
}

func TestEveryRunIsReported(t *testing.T) {
	var seen runs
	hooks := []hook.Hook{
		{Event: "PreToolUse", Command: `echo warn >&2; echo '{"systemMessage": "hi", "suppressOutput": true, "hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "r"}}'`, Name: "guard", Origin: "f:3"},
		{Event: "PreToolUse", Matcher: "Edit", Command: "true"},
		{Event: "Stop", Command: "true"},
	}
	call := bash("{}")
	call.Agent = "agent1"
	newRunner(t, hooks, &hook.Options{Report: seen.report}).Before(t.Context(), bashTool, call)
	if len(seen.list) != 1 {
		t.Fatalf("runs: %v", seen.list)
	}
	run := seen.list[0]
	if run.Duration <= 0 || time.Since(run.Started) > time.Minute {
		t.Errorf("started %v, took %v", run.Started, run.Duration)
	}
	got := []any{run.Event, run.Hook, run.Origin, run.Tool, run.Call, run.Agent, run.Behavior, run.Reason, run.Err, run.ExitCode, run.Stderr, run.Message, run.Suppress}
	want := []any{hook.Event("PreToolUse"), "guard", "f:3", "Bash", "call1", "agent1", tool.Ask, "r", error(nil), 0, "warn", "hi", true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}

func TestHooksOfSettings(t *testing.T) {
	f, err := settings.Parse(settings.User, "f", []byte(`{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
		{"type": "command", "command": "x", "timeout": 1.5, "on_error": "block", "async": true, "env": ["A"], "if": "Bash(git *)"},
		{"type": "http", "url": "http://u", "headers": {"a": "b"}}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []hook.Hook{
		{Event: "PreToolUse", Matcher: "Bash", If: "Bash(git *)", Command: "x", Timeout: 1500 * time.Millisecond, Block: true, Required: true, Async: true, Env: []string{"A"}, Origin: "f:2"},
		{Event: "PreToolUse", Matcher: "Bash", URL: "http://u", Headers: map[string]string{"a": "b"}, Block: true, Required: true, Origin: "f:3"},
	}
	if diff := cmp.Diff(want, project.HooksOf(settings.Of(f).Hooks())); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

func TestAHookWithArgumentsRunsWithoutAShell(t *testing.T) {
	f, err := settings.Parse(settings.User, "f", []byte(`{"hooks": {"PreToolUse": [{"matcher": "Write,Bash", "hooks": [
		{"type": "command", "command": "printf", "args": ["{\"systemMessage\": \"%s|%s\"}", "$HOME; $(id)", "${CLAUDE_PROJECT_DIR}"]}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	hooks := settings.Of(f).Hooks()
	var seen runs
	newRunner(t, project.HooksOf(hooks), &hook.Options{Project: t.TempDir(), Report: seen.report}).Before(t.Context(), bashTool, bash("{}"))
	if len(seen.list) != 1 || seen.list[0].Err != nil || !strings.HasPrefix(seen.list[0].Message, "$HOME; $(id)|/") {
		t.Errorf("runs %+v", seen.list)
	}
	if want := `"printf" "{\"systemMessage\": \"%s|%s\"}" "$HOME; \$(id)" "${CLAUDE_PROJECT_DIR}"`; hooks[0].Line() != want {
		t.Errorf("as a command it is %s, want %s", hooks[0].Line(), want)
	}
}

func TestAnAsyncHookIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	var seen runs
	hooks := []hook.Hook{
		{Event: "PreToolUse", Command: "touch ran; exit 2", Async: true},
		{Event: "PreToolUse", Command: "echo $$ >pid; sleep 300", Async: true},
	}
	r := hook.New(hooks, &hook.Options{Project: dir, Report: seen.report})
	if v, _ := r.Before(t.Context(), bashTool, bash("{}")); v.Behavior != tool.NoView {
		t.Errorf("verdict %v", v.Behavior)
	}
	for _, name := range []string{"ran", "pid"} {
		for {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	r.Close()
	if len(seen.list) != 2 {
		t.Errorf("%d runs are reported", len(seen.list))
	}
}

func TestAHookOfTwoFilesRunsOnce(t *testing.T) {
	var seen runs
	hooks := []hook.Hook{
		{Event: "Stop", Command: "true", Origin: "a:1"},
		{Event: "Stop", Command: "true", Origin: "b:1"},
		{Event: "Stop", Command: "true", Block: true},
		{Event: "Stop", Command: "true", Vars: map[string]string{"CLAUDE_SKILL_DIR": "/a"}},
		{Event: "Stop", Command: "true", Vars: map[string]string{"CLAUDE_SKILL_DIR": "/b"}},
	}
	newRunner(t, hooks, &hook.Options{Report: seen.report}).Fire(t.Context(), "", hook.Stop{})
	if len(seen.list) != 4 {
		t.Errorf("%d runs, want 4", len(seen.list))
	}

	broken := hook.Hook{Event: "PreToolUse", Matcher: "[", Command: "exit 2"}
	sound := hook.Hook{Event: "PreToolUse", Matcher: "Bash", Command: "exit 2"}
	if v, _ := newRunner(t, []hook.Hook{broken, sound}, nil).Before(t.Context(), bashTool, bash("{}")); v.Behavior != tool.Deny {
		t.Errorf("a broken hook keeps its sound twin from running: %v", v.Behavior)
	}
}

func TestAFunctionThatMisbehaves(t *testing.T) {
	release := make(chan bool)
	defer close(release)
	tests := []struct {
		name string
		f    func(context.Context, hook.Input) (hook.Output, error)
		want string
	}{
		{"it panics", func(context.Context, hook.Input) (hook.Output, error) { panic("boom") }, "it crashed: boom"},
		{"it fails", func(context.Context, hook.Input) (hook.Output, error) { return hook.Output{}, errors.New("oops") }, "oops"},
		{"it does not end", func(context.Context, hook.Input) (hook.Output, error) { <-release; return hook.Output{}, nil }, "it took longer than 50ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := newRunner(t, []hook.Hook{{Event: "Stop", Func: tt.f}}, &hook.Options{Timeout: 50 * time.Millisecond}).Fire(t.Context(), "", hook.Stop{})
			if err := o.Runs[0].Err; err == nil || err.Error() != tt.want || o.Blocked() {
				t.Errorf("error %v, blocked %v; want %s", err, o.Blocked(), tt.want)
			}
		})
	}
}
