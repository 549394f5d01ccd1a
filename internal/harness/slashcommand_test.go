package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness/slash"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

var reexec = shellrun.Supervise()

// open opens a world with files in a home and a project; $BASE is where they are.
func open(t *testing.T, opts harness.Options, files map[string]string) *harness.World {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, filepath.Join(base, "home"))
	}
	for name, text := range files {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "$BASE", base)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	opts.Dir, opts.Reexec = filepath.Join(base, "project"), reexec
	if err := os.MkdirAll(filepath.Join(opts.Dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := harness.Open(&opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// input reads what is typed in a world where nobody is asked.
func input(w *harness.World) *slash.Input {
	return &slash.Input{Commands: w.Project.Library.Commands, Dir: func() string { return w.Shell.Dir("") }, Calls: w.Nested(sched.Options{Hooks: w.Hooks})}
}

func TestWhatAPersonTypes(t *testing.T) {
	w := open(t, harness.Options{}, map[string]string{
		"home/.claude/commands/review.md":  "---\nallowed-tools: Read, Bash(echo *)\nmodel: haiku\n---\nReview $1, !`echo now`. @rules.txt",
		"home/.claude/skills/pdf/SKILL.md": "Fill in $ARGUMENTS.",
		"project/rules.txt":                "be kind\n",
	})
	typed, ok, err := input(w).Read(t.Context(), "/review main.go")
	if err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	want := "Review main.go, now. @rules.txt\n\n<file path=\"rules.txt\">\n1\tbe kind\n</file>"
	if diff := cmp.Diff(want, strings.ReplaceAll(typed.Text, w.Project.Dir+"/", "")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&tool.Change{Allow: []string{"Read", "Bash(echo *)"}, Model: "haiku"}, typed.Change); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	if typed, ok, err := input(w).Read(t.Context(), "/pdf a.pdf"); err != nil || !ok || !strings.HasSuffix(typed.Text, "Fill in a.pdf.") {
		t.Errorf("a skill: %+v, %t, %v", typed, ok, err)
	}
	if typed, ok, err := input(w).Read(t.Context(), "/compact keep it"); err != nil || !ok || typed.Text != "" || typed.Command.Name != "compact" || typed.Arguments != "keep it" {
		t.Errorf("haft's own: %+v, %t, %v", typed, ok, err)
	}
	for _, text := range []string{"hello", "/nobody knows", "/etc/hosts"} {
		if _, ok, err := input(w).Read(t.Context(), text); ok || err != nil {
			t.Errorf("%s: %t, %v", text, ok, err)
		}
	}
}

func TestATextCannotWriteInPlanMode(t *testing.T) {
	w := open(t, harness.Options{Mode: "plan"}, map[string]string{
		"home/.claude/commands/write.md": "---\nallowed-tools: Bash\n---\n!`touch pwned`",
		"home/.claude/commands/look.md":  "!`ls -d .git`",
	})
	_, ok, err := input(w).Read(t.Context(), "/write")
	if err == nil || !ok {
		t.Errorf("it was let through: %t, %v", ok, err)
	}
	if _, err := os.Stat(filepath.Join(w.Project.Dir, "pwned")); err == nil {
		t.Error("a command wrote a file in plan mode")
	}
	if typed, _, err := input(w).Read(t.Context(), "/look"); err != nil || typed.Text != ".git" {
		t.Errorf("looking: %q, %v", typed.Text, err)
	}
}

func TestRulesOfATextHoldForItsOwnCallsOnly(t *testing.T) {
	w := open(t, harness.Options{}, map[string]string{"home/.claude/commands/make.md": "---\nallowed-tools: Bash(touch *)\n---\n!`touch made`"})
	if _, _, err := input(w).Read(t.Context(), "/make"); err != nil {
		t.Errorf("what it allows itself was denied: %v", err)
	}
	c := tool.Case{Tool: w.Pool(nil).Set(&tool.Session{}).Lookup("Bash"), Call: &tool.Call{Tool: "Bash", Input: []byte(`{"command":"touch other"}`)}}
	if v := w.Engine.Judge(t.Context(), c); v.Behavior == tool.Allow {
		t.Errorf("afterwards others are allowed it too: %+v", v)
	}
}
