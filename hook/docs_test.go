package hook_test

import (
	"encoding/json"
	"github.com/haftdev/haft/internal/harness/project"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/tool"
)

// guide is the page for users.
func guide(t *testing.T) string {
	page, err := os.ReadFile("../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

var (
	example  = regexp.MustCompile("(?s)### ([^\n]*)\n\n(?:[^#`]*(?:`[^`\n]+`[^#`]*)*\n\n)?```json\n(.*?)```")
	jsonText = regexp.MustCompile("(?s)```json\n(.*?)```")
)

// examples returns the hooks of each example by its title.
func examples(t *testing.T) map[string][]hook.Hook {
	found := map[string][]hook.Hook{}
	for _, m := range example.FindAllStringSubmatch(guide(t), -1) {
		found[m[1]] = read(t, m[2])
	}
	return found
}

// read returns the hooks of settings with which nothing is wrong.
func read(t *testing.T, text string) []hook.Hook {
	f, err := settings.Parse(settings.User, "", []byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	s := settings.Of(f)
	if problems := s.Problems(); len(problems) > 0 || len(s.Hooks()) == 0 {
		t.Fatalf("%d hooks, problems %v:\n%s", len(s.Hooks()), problems, text)
	}
	return project.HooksOf(s.Hooks())
}

func TestExamplesOfTheGuideDoWhatItSays(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package  a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, used := examples(t), map[string]bool{}
	runner := func(t *testing.T, title string) *hook.Runner {
		used[title] = true
		match := func(rule string, _ *tool.Tool, c *tool.Call) (bool, error) {
			return rule == "Bash(npm publish:*)" && strings.Contains(string(c.Input), "npm publish"), nil
		}
		return newRunner(t, all[title], &hook.Options{Project: dir, Match: match, Environ: append(os.Environ(), "GUARD_TOKEN=secret")})
	}
	before := func(t *testing.T, title, name, input string) string {
		v, _ := runner(t, title).Before(t.Context(), nil, &tool.Call{Tool: name, Input: json.RawMessage(input)})
		return v.Behavior.String() + " " + v.Message
	}
	none := tool.NoView.String() + " "

	for _, c := range []struct{ title, tool, input, want string }{
		{"Deny a command", "Bash", `{"command":"git push --force"}`, "Never push by force"},
		{"Deny a command", "Bash", `{"command":"git push"}`, ""},
		{"Ask before a call", "mcp__db__query", `{}`, "ask it leaves this machine"},
		{"Ask before a call", "Read", `{}`, ""},
		{"Run a hook for certain commands only", "Bash", `{"command":"npm publish"}`, "Releases are made by CI."},
		{"Run a hook for certain commands only", "Bash", `{"command":"npm test"}`, ""},
	} {
		got := before(t, c.title, c.tool, c.input)
		if c.want == "" && got != none || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s %s: %q, want %q", c.title, c.tool, c.input, got, c.want)
		}
	}

	effect := func(before *tool.Version) string {
		p := &tool.Preview{Ran: true, Files: []tool.FileChange{{Path: "/p/db/migrations/1.sql", Before: before, After: tool.NewVersion(0o644, []byte("x\n"), []byte("x\n"))}}}
		v, _ := runner(t, "Judge a change").Effects(t.Context(), tool.Case{Tool: &tool.Tool{Name: "Bash"}, Call: &tool.Call{Tool: "Bash"}, Preview: p, Looked: true})
		return v.Behavior.String() + " " + v.Message
	}
	if got := effect(nil); got != none {
		t.Errorf("a migration is added: %q", got)
	}
	if got := effect(tool.NewVersion(0o644, []byte("y\n"), []byte("y\n"))); !strings.Contains(got, "deny") || !strings.Contains(got, "added and never changed") {
		t.Errorf("a migration is changed: %q", got)
	}
	if got := before(t, "Judge a change", "Bash", `{"command":"x"}`); got != none {
		t.Errorf("it ran before the change is known: %q", got)
	}

	_, notes := runner(t, "Check a file after it was written").After(t.Context(), nil, &tool.Call{Tool: "Write", Input: json.RawMessage(`{}`)}, tool.Result{})
	if !strings.Contains(strings.Join(notes, "\n"), "Run gofmt on: a.go") {
		t.Errorf("notes %q", notes)
	}
	said := runner(t, "Tell the model something with every prompt").Fire(t.Context(), "", hook.UserPromptSubmit{Prompt: "hi"})
	if !strings.Contains(strings.Join(said.Notes, "\n"), "Today is 2") {
		t.Errorf("notes %q", said.Notes)
	}
	stop := runner(t, "Remind the model to run the tests before a turn ends")
	first, second := stop.Fire(t.Context(), "", hook.Stop{}), stop.Fire(t.Context(), "", hook.Stop{StopHookActive: true})
	if !first.Blocked() || second.Blocked() {
		t.Errorf("blocked %v, then %v", first.Blocked(), second.Blocked())
	}

	t.Run("a server decides, and its absence blocks", func(t *testing.T) {
		const title = "Ask a server, and deny calls if it does not answer"
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = io.WriteString(w, `{"decision":"block","reason":"the server says no"}`)
		}))
		all[title][0].URL = server.URL
		if got := before(t, title, "Bash", `{}`); !strings.Contains(got, "the server says no") {
			t.Error(got)
		}
		server.Close()
		if got := before(t, title, "Bash", `{}`); !strings.Contains(got, "the required hook") {
			t.Error(got)
		}
	})
	t.Run("a log is kept without waiting", func(t *testing.T) {
		const title = "Keep a log, without waiting"
		done := make(chan hook.Run, 1)
		used[title] = true
		r := newRunner(t, all[title], &hook.Options{Project: dir, Report: func(run hook.Run) { done <- run }})
		r.After(t.Context(), nil, &tool.Call{Tool: "Bash", Input: json.RawMessage(`{}`)}, tool.Result{})
		run := <-done
		log, err := os.ReadFile(filepath.Join(dir, "calls.jsonl"))
		if err != nil || run.Err != nil || !strings.Contains(string(log), `"tool_name":"Bash"`) {
			t.Errorf("%s: %v, %v", log, err, run.Err)
		}
	})
	for title := range all {
		if !used[title] {
			t.Errorf("nothing runs the example %q", title)
		}
	}
}

// An event has an input here, and a place in the list of events that settings files may name.
func TestEveryInputIsThatOfAnEvent(t *testing.T) {
	source, err := os.ReadFile("input.go")
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, m := range regexp.MustCompile(`\) Event\(\) Event +\{ return "(\w+)" \}`).FindAllStringSubmatch(string(source), -1) {
		inputs = append(inputs, m[1])
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(settings.Events)), slices.Sorted(slices.Values(inputs))); diff != "" {
		t.Errorf("events (-Events in internal/config/settings/hooks.go, +inputs in hook/input.go):\n%s", diff)
	}
}

func TestGuideNamesEveryEventAndEveryField(t *testing.T) {
	page := guide(t)
	var events []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\|").FindAllStringSubmatch(page, -1) {
		events = append(events, m[1])
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(settings.Events)), slices.Sorted(slices.Values(events))); diff != "" {
		t.Errorf("events (-known +in docs/hooks.md):\n%s", diff)
	}
	for _, text := range jsonText.FindAllStringSubmatch(page, -1) {
		read(t, text[1])
	}
	yes := false
	answer, err := json.Marshal(hook.Output{
		Continue: &yes, StopReason: "x", SystemMessage: "x", SuppressOutput: true, Decision: "x", Reason: "x",
		Specific: &hook.Specific{
			HookEventName: "x", AdditionalContext: "x", PermissionDecision: "x", PermissionDecisionReason: "x", UpdatedInput: json.RawMessage("{}"),
			UpdatedToolOutput: json.RawMessage("{}"), Decision: &hook.Answer{Interrupt: true, Message: "x"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(answer), -1) {
		if !strings.Contains(page, m[1]) {
			t.Errorf("the guide does not name %s", m[1])
		}
	}
}
