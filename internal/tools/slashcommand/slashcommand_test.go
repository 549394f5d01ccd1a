package slashcommand_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/tools/slashcommand"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newTool returns the tool with some commands, and the folder they are in.
func newTool(t *testing.T, o slashcommand.Options) (tool.Tool, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "commands/review.md"), "---\ndescription: Reviews\nallowed-tools: Bash(gh pr view:*)\n---\nReview !`gh pr view $1` by @rules.txt")
	write(t, filepath.Join(dir, "commands/docs/explain.md"), "Explain $ARGUMENTS.")
	write(t, filepath.Join(dir, "commands/secret.md"), "---\ndescription: Secret\ndisable-model-invocation: true\n---\nx")
	write(t, filepath.Join(dir, "rules.txt"), "be kind")
	o.Commands = command.New(command.Options{Places: []knowledge.Place{{Dir: dir, Source: settings.User}}})
	if o.Calls == nil {
		o.Calls = func(_ context.Context, r prompt.Request) (tool.Result, error) {
			return tool.Text("[" + r.Tool + "]"), nil
		}
	}
	o.Dir = func() string { return dir }
	return slashcommand.New(&o), dir
}

func TestConformance(t *testing.T) {
	sc, _ := newTool(t, slashcommand.Options{})
	tooltest.Run(t, tooltest.Subject{
		Tool:  sc,
		Valid: []string{`{"command":"/review 12"}`, `{"command":"/docs:explain maps and globes"}`},
	})
}

func TestTheDescriptionListsWhatMayBeCalled(t *testing.T) {
	sc, _ := newTool(t, slashcommand.Options{Allowed: func(line string) bool { return line != "/review" }})
	if d := sc.Describe(nil); !strings.HasSuffix(d, "Commands:\n- /docs:explain: Explain $ARGUMENTS.") {
		t.Errorf("description: %s", d)
	}
	if d := slashcommand.New(nil); !strings.HasSuffix(d.Describe(nil), "There are no commands in this session.") {
		t.Errorf("description: %s", d.Describe(nil))
	}
}

func TestTheTextJoinsTheConversation(t *testing.T) {
	sc, dir := newTool(t, slashcommand.Options{})
	r, err := sc.Run(t.Context(), &tool.Call{Input: []byte(`{"command":"/review 12"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := "Review [Bash] by @rules.txt\n\n<file path=\"DIR/rules.txt\">\n[Read]\n</file>"
	if diff := cmp.Diff(want, strings.ReplaceAll(r.Messages[0].Content[0].Text, dir, "DIR")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&tool.Change{Allow: []string{"Bash(gh pr view:*)"}}, r.Change); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
}

func TestVerdicts(t *testing.T) {
	sc, dir := newTool(t, slashcommand.Options{})
	if v := sc.Permission(t.Context(), &tool.Call{Input: []byte(`{"command":"/docs:explain x"}`)}); v.Behavior != tool.Allow {
		t.Errorf("a text alone: %+v", v)
	}
	v := sc.Permission(t.Context(), &tool.Call{Input: []byte(`{"command":"/review 12"}`)})
	if v.Behavior != tool.Ask || v.Suggestions[0].Rule != "SlashCommand(/review:*)" || v.Message != "the command /review allows Bash(gh pr view:*) and runs gh pr view $1" {
		t.Errorf("one that runs something: %+v", v)
	}
	write(t, filepath.Join(dir, "commands/review.md"), "Evil.")
	if _, err := sc.Run(t.Context(), &tool.Call{Input: v.Input}); err == nil || !strings.Contains(err.Error(), "changed while permission was being decided") {
		t.Errorf("after a change: %v", err)
	}
}

func TestProblemsSayWhatToDo(t *testing.T) {
	sc, _ := newTool(t, slashcommand.Options{})
	for line, want := range map[string]string{
		"review 12": "A command starts with a slash and its name, as in /review-pr 123.",
		" /review":  "A command starts with a slash and its name, as in /review-pr 123.",
		"/revew 12": `There is no command named "revew". Did you mean review?`,
		"/secret":   "Only the user can call /secret. Tell the user if it is needed.",
		"/clear":    "/clear is one of haft's own commands: only the user can type it",
	} {
		p := sc.Validate(t.Context(), &tool.Call{Input: []byte(`{"command":"` + line + `"}`)})
		if p == nil || p.Message != want {
			t.Errorf("%s: %+v, want %s", line, p, want)
		}
	}
}
