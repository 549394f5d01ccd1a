package hook_test

import (
	"encoding/json"
	"fmt"
	"github.com/haftdev/haft/internal/harness/project"
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/tool"
)

// failing are the ways in which a hook fails, as its fields in a settings file.
var failing = []struct{ kind, fields string }{
	{"it exits with 1", `"type": "command", "command": "echo oops >&2; exit 1"`},
	{"it exits with 3 and prints a stack trace", `"type": "command", "command": "printf 'Traceback\n  File \"x\"\n' >&2; exit 3"`},
	{"its script is missing", `"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/no/such/script.sh"`},
	{"its program is not installed", `"type": "command", "command": "no-such-program-here run guard"`},
	{"a signal ends it", `"type": "command", "command": "kill -9 $$"`},
	{"it takes too long", `"type": "command", "command": "sleep 60", "timeout": 0.05`},
	{"its answer is cut off", `"type": "command", "command": "printf '{\"decision\": \"blo'"`},
	{"its answer has an unknown field", `"type": "command", "command": "echo '{\"permissionDecison\": \"deny\"}'"`},
	{"its URL does not answer", `"type": "http", "url": "http://127.0.0.1:1/"`},
	{"the model that it asks does not answer", `"type": "prompt", "prompt": "is it safe?"`},
	{"it is set up incorrectly", `"type": "command", "command": "true", "timeout": "5"`},
	{"the shell cannot parse it, and exits with 2", `"type": "command", "command": "if ["`},
}

// failingEvents are events at which a hook can block, and one at which it cannot.
var failingEvents = []struct {
	event, blocked string
	fire           func(*hook.Runner, *testing.T) (blocked bool)
}{
	{"PreToolUse", "denies", func(r *hook.Runner, t *testing.T) bool {
		v, _ := r.Before(t.Context(), bashTool, bash("{}"))
		return v.Behavior == tool.Deny
	}},
	{"PermissionRequest", "denies", func(r *hook.Runner, t *testing.T) bool {
		v, err := r.Ask(t.Context(), tool.Case{Tool: bashTool, Call: bash("{}")}, tool.Verdict{Behavior: tool.Ask})
		return err != nil || v.Behavior == tool.Deny
	}},
	{"UserPromptSubmit", "does not send", func(r *hook.Runner, t *testing.T) bool {
		o := r.Fire(t.Context(), "", hook.UserPromptSubmit{Prompt: "x"})
		return o.Blocked()
	}},
	{"Stop", "one more turn", func(r *hook.Runner, t *testing.T) bool {
		o := r.Fire(t.Context(), "", hook.Stop{})
		return o.Blocked()
	}},
	{"PostToolUse", "denies", func(r *hook.Runner, t *testing.T) bool {
		_, notes := r.After(t.Context(), bashTool, bash("{}"), tool.Text("x"))
		return strings.Contains(strings.Join(notes, "\n"), "blocking error")
	}},
}

// TestWhatAFailingHookDoes writes the table of the guide: every kind of failure, at every
// event, in a file of Claude Code and in one of haft. Each failure is reported, and the model
// is told once about one that does not block.
func TestWhatAFailingHookDoes(t *testing.T) {
	var table strings.Builder
	table.WriteString("| the hook fails because |")
	for _, e := range failingEvents {
		fmt.Fprintf(&table, " `%s` |", e.event)
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(failingEvents)) + "\n")
	same := map[string][]string{} // kinds of failures, by what they lead to
	var rows []string
	for _, f := range failing {
		var row strings.Builder
		for _, e := range failingEvents {
			var cells []string
			for _, file := range []string{"/p/.claude/settings.json", "/p/.haft/settings.json"} {
				does := "continues"
				if failsAt(t, file, e.event, f.fields, e.fire) {
					does = e.blocked
				}
				cells = append(cells, does)
			}
			if cells[0] == cells[1] {
				cells = cells[:1]
			}
			fmt.Fprintf(&row, " %s |", strings.Join(cells, " / "))
		}
		if same[row.String()] == nil {
			rows = append(rows, row.String())
		}
		same[row.String()] = append(same[row.String()], f.kind)
	}
	for _, row := range rows {
		fmt.Fprintf(&table, "| %s |%s\n", strings.Join(same[row], "; "), row)
	}
	golden.Part(t, "../docs/hooks.md", "failing hooks", table.String())
}

func failsAt(t *testing.T, file, event, fields string, fire func(*hook.Runner, *testing.T) bool) bool {
	t.Helper()
	f, err := settings.Parse(settings.User, file, fmt.Appendf(nil, `{"hooks": {%q: [{"hooks": [{%s}]}]}}`, event, fields))
	if err != nil {
		t.Fatal(err)
	}
	var reported runs
	r := newRunner(t, project.HooksOf(settings.Of(f).Hooks()), &hook.Options{Project: t.TempDir(), Report: reported.report})
	blocked := fire(r, t)
	if len(reported.list) != 1 || !reported.list[0].Failed() {
		t.Errorf("%s %s %s: reported %+v", file, event, fields, reported.list)
	}
	said := strings.Join(append(r.Fire(t.Context(), "", hook.SessionStart{}).Notes, r.Fire(t.Context(), "", hook.SessionStart{}).Notes...), "\n")
	_, told := r.Before(t.Context(), bashTool, bash("{}"))
	if event == "Stop" || event == "PermissionRequest" {
		if n := strings.Count(said+strings.Join(told, "\n"), "work continues without"); blocked == (n > 0) || n > 1 {
			t.Errorf("%s %s: blocked %v, and the model is told %d times", file, event, blocked, n)
		}
	}
	return blocked
}

func TestWhoseFailuresBlock(t *testing.T) {
	one := func(source settings.Source, path, text string) *settings.File {
		f, err := settings.Parse(source, path, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const plain = `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 1"}]}]}}`
	plugin := one(settings.User, "/h/.haft/plugins/p/hooks/hooks.json", plain)
	plugin.Shared = true
	for _, c := range []struct {
		name   string
		files  []*settings.File
		blocks bool
	}{
		{"a file of Claude Code", []*settings.File{one(settings.Project, "/p/.claude/settings.json", plain)}, false},
		{"a plugin, wherever it is", []*settings.File{plugin}, false},
		{"a file of haft", []*settings.File{one(settings.Project, "/p/.haft/settings.json", plain)}, true},
		{"a file of haft in a worktree of Claude Code", []*settings.File{one(settings.Project, "/p/.claude/worktrees/w/.haft/settings.json", plain)}, true},
		{"an administrator's, in a folder of any name", []*settings.File{one(settings.Managed, "/etc/.claude/managed-settings.json", plain)}, true},
		{"the command line", []*settings.File{one(settings.Flag, "", plain)}, true},
		{"one that says so", []*settings.File{one(settings.User, "/h/.claude/settings.json", strings.Replace(plain, `"exit 1"`, `"exit 1", "on_error": "block"`, 1))}, true},
		{"one of haft that says otherwise", []*settings.File{one(settings.User, "/h/.haft/settings.json", strings.Replace(plain, `"exit 1"`, `"exit 1", "on_error": "continue"`, 1))}, false},
		{"failClosed in another file", []*settings.File{one(settings.User, "/h/.haft/settings.json", `{"hooks": {"failClosed": true}}`), one(settings.Project, "/p/.claude/settings.json", plain)}, true},
		{"a project cannot take it back", []*settings.File{one(settings.User, "/h/.haft/settings.json", `{"hooks": {"failClosed": true}}`), one(settings.Project, "/p/.claude/settings.json", `{"hooks": {"failClosed": false, `+plain[len(`{"hooks": {`):])}, true},
	} {
		set := settings.Of(c.files...)
		if problems := set.Problems(); len(problems) > 0 {
			t.Errorf("%s: %v", c.name, problems)
		}
		r := newRunner(t, project.HooksOf(set.Hooks()), nil)
		v, notes := r.Before(t.Context(), bashTool, bash("{}"))
		if blocked := v.Behavior == tool.Deny; blocked != c.blocks || blocked == (len(notes) > 0) {
			t.Errorf("%s: %+v, notes %q", c.name, v, notes)
		}
	}
}

// TestAHookThatMustNotRunBlocks: that its file changed, or that haft cannot tell whether it
// should run, is not a failure of the hook, so Claude Code's contract does not cover it.
func TestAHookThatMustNotRunBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		matcher string
		check   func(*hook.Hook) error
	}{
		"it has changed":         {"Bash", func(*hook.Hook) error { return os.ErrPermission }},
		"its matcher is invalid": {"Bash(?!x)", nil},
	} {
		text, err := json.Marshal(c.matcher)
		if err != nil {
			t.Fatal(err)
		}
		f, err := settings.Parse(settings.User, "/h/.claude/settings.json", fmt.Appendf(nil, `{"hooks": {"PreToolUse": [{"matcher": %s, "hooks": [{"type": "command", "command": "true"}]}]}}`, text))
		if err != nil {
			t.Fatal(err)
		}
		r := newRunner(t, project.HooksOf(settings.Of(f).Hooks()), &hook.Options{Check: c.check})
		if v, _ := r.Before(t.Context(), bashTool, bash("{}")); v.Behavior != tool.Deny {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
