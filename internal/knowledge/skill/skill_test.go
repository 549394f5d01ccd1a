package skill_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/tool"
)

// public is the fixtures as a user's own skills.
func public(t *testing.T) *skill.Library {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "skills"), os.DirFS("testdata/public")); err != nil {
		t.Fatal(err)
	}
	return skill.New([]knowledge.Place{{Dir: dir, Source: settings.User}}, nil)
}

func TestSkillsOfThePublicFormat(t *testing.T) {
	list := public(t).List()
	want := []skill.Skill{
		{
			Piece: knowledge.Piece{Name: "commit-helper"}, Description: "Writes commit messages from the staged changes. When something is to be committed.",
			Hint: "[type] [scope]", Arguments: []string{"type", "scope"}, Allow: []string{"Bash(git diff:*)", "Bash(git log *)", "Read"}, Model: "haiku",
			ForModel: true, ForPeople: true,
		},
		{Piece: knowledge.Piece{Name: "deploy"}, Description: "Deploy the application", Allow: []string{"Bash"}, Fork: true, Agent: "Explore", ForPeople: true},
		{Piece: knowledge.Piece{Name: "explain"}, Description: "Explains code with an analogy and a diagram.", ForModel: true, ForPeople: true},
		{Piece: knowledge.Piece{Name: "old-style"}, Description: "Background: how the old system works", ForModel: true},
		{
			Piece:       knowledge.Piece{Name: "pdf-forms"},
			Description: "Fill in PDF forms and read their fields. Use when: the person mentions PDFs, forms, or document extraction.",
			ForModel:    true, ForPeople: true,
		},
	}
	ignore := cmpopts.IgnoreFields(knowledge.Piece{}, "Kind", "Path", "Fields", "Body", "Digest", "Source")
	if diff := cmp.Diff(want, list.Skills, ignore); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list.Problems != nil {
		t.Errorf("problems: %v", list.Problems)
	}
}

func TestTheMenuHasWhatAModelMayCall(t *testing.T) {
	want := `- commit-helper: Writes commit messages from the staged changes. When something is to be committed.
- explain: Explains code with an analogy and a diagram.
- old-style: Background: how the old system works
- pdf-forms: Fill in PDF forms and read their fields. Use when: the person mentions PDFs, forms, or document extraction.`
	if diff := cmp.Diff(want, skill.Menu(public(t).List().Skills, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTwoHundredSkillsStayWithinTheBudget(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		folder := filepath.Join(dir, "skills", fmt.Sprintf("skill-%03d", i))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("---\nname: skill-%03d\ndescription: Use when: %s\n---\nbody", i, strings.Repeat("it matters ", 80))
		if err := os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	skills := skill.New([]knowledge.Place{{Dir: dir, Source: settings.User}}, nil).List().Skills
	menu := skill.Menu(skills, 0)
	if n := utf8.RuneCountInString(menu); n > knowledge.DefaultBudget || n < knowledge.DefaultBudget/2 {
		t.Errorf("the menu has %d characters of %d", n, knowledge.DefaultBudget)
	}
	for _, s := range skills {
		if !strings.Contains(menu, "- "+s.Name+": Use when") {
			t.Errorf("%s is not described", s.Name)
		}
	}
}

func TestPrompt(t *testing.T) {
	lib := public(t)
	var asked []prompt.Request
	calls := func(_ context.Context, r prompt.Request) (tool.Result, error) {
		asked = append(asked, r)
		return tool.Text("1 file changed"), nil
	}
	s, err := lib.Read("commit-helper")
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Prompt(t.Context(), prompt.Use{Arguments: "fix parser"}, calls)
	if err != nil {
		t.Fatal(err)
	}
	want := "The skill's folder: DIR\n\nStaged now: 1 file changed\n\nWrite a fix commit for parser. Templates are in DIR/templates."
	if diff := cmp.Diff(want, strings.ReplaceAll(text, s.Dir(), "DIR")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	wantAsked := []prompt.Request{{Tool: "Bash", Input: []byte(`{"command":"git diff --cached --stat"}`), Allow: s.Allow}}
	if diff := cmp.Diff(wantAsked, asked); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestPathsBeginWhereTheSkillIsKept: in the folder of the project that has it, or in the root for a user's own.
func TestPathsBeginWhereTheSkillIsKept(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	for dir, paths := range map[string]string{filepath.Join(root, "web/.claude/skills/theirs"): "./*.ts", filepath.Join(home, "skills/mine"): "web/*.ts, '[a'"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\npaths: "+paths+"\n---\nx"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := skill.New([]knowledge.Place{
		{Dir: home, Source: settings.User},
		{Dir: filepath.Join(root, "web/.claude"), Root: root, Source: settings.Project},
	}, func(knowledge.Claim) bool { return true }).List()
	if len(list.Skills) != 2 || len(list.Problems) != 1 || !strings.Contains(list.Problems[0].Text, "[a") {
		t.Fatalf("%v, problems %v", list.Skills, list.Problems)
	}
	for _, s := range list.Skills {
		for file, want := range map[string]bool{"web/a.ts": true, "a.ts": false, "web/in/a.ts": false} {
			if got := s.IsFor(root, filepath.Join(root, file)); got != want {
				t.Errorf("%s is for %s: %v", s.Name, file, got)
			}
		}
	}
	if menu := skill.Menu(list.Skills, 0); menu != "" {
		t.Errorf("the menu has %q", menu)
	}
}

// TestASkillWhoseHooksCannotBeReadIsLeftOut: what they were to guard would not be.
func TestASkillWhoseHooksCannotBeReadIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	for name, hooks := range map[string]string{"text": "run check.sh", "list": "[a]", "misspelt": "{PreToolUs: []}", "good": "{Stop: [{hooks: [{type: command, command: 'a && b'}]}]}"} {
		folder := filepath.Join(dir, "skills", name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte("---\nhooks: "+hooks+"\n---\nx"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := skill.New([]knowledge.Place{{Dir: dir, Source: settings.User}}, nil).List()
	var got []string
	for _, s := range list.Skills {
		got = append(got, s.Name+": "+strings.Join(s.HookTexts(), "; "))
	}
	if diff := cmp.Diff([]string{"good: Stop runs a && b", "misspelt: "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	said := fmt.Sprint(list.Problems)
	if len(list.Problems) != 3 || strings.Count(said, "its hooks cannot be read") != 2 || !strings.Contains(said, "did you mean PreToolUse?") {
		t.Errorf("problems: %s", said)
	}
}
