package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/tool"
)

// home is a folder with the fixtures as commands, and more files.
func home(t *testing.T, files map[string]string) []knowledge.Place {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "commands"), os.DirFS("testdata/public")); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return []knowledge.Place{{Dir: dir, Source: settings.User}}
}

// own returns the commands that are not haft's own.
func own(l command.Listing) []command.Command {
	return slices.DeleteFunc(l.Commands, func(c command.Command) bool { return c.Origin == command.Builtin })
}

func TestCommandsOfThePublicFormat(t *testing.T) {
	list := command.New(command.Options{Places: home(t, nil)}).List()
	want := []command.Command{
		{
			Name: "fix-issue", Description: "Fix a GitHub issue", Hint: "[issue-number] [priority]", Origin: command.File, Source: settings.User,
			Allow: []string{"Bash(gh issue view:*)", "Edit"}, Model: "claude-haiku-5", ForModel: true, Commands: []string{"gh issue view $1"},
		},
		{Name: "frontend:component", Description: "Create a component named $ARGUMENTS.", Origin: command.File, Source: settings.User, ForModel: true},
		{Name: "quiet", Description: "Only for people", Origin: command.File, Source: settings.User},
	}
	if diff := cmp.Diff(want, own(list), cmpopts.IgnoreFields(command.Command{}, "Path", "Text", "Digest"), cmpopts.IgnoreUnexported(command.Command{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list.Problems != nil {
		t.Errorf("problems: %v", list.Problems)
	}
}

func TestACommandBecomesAPrompt(t *testing.T) {
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "RULES.md"), []byte("be kind"), 0o644); err != nil {
		t.Fatal(err)
	}
	set := command.New(command.Options{Places: home(t, nil)})
	name, args, ok := command.Line(`/fix-issue 42 "very high"`)
	if !ok {
		t.Fatal("it is no command")
	}
	c, err := set.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Prompt(t.Context(), prompt.Use{Arguments: args, Dir: project}, func(_ context.Context, r prompt.Request) (tool.Result, error) {
		if diff := cmp.Diff(c.Allow, r.Allow); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
		return tool.Text("[" + r.Tool + "]"), nil
	})
	want := "Fix issue #42 with priority very high.\n\n## Context\n- The issue: [Bash]\n- Our rules: @RULES.md\n\n<file path=\"P/RULES.md\">\n[Read]\n</file>"
	if diff := cmp.Diff(want, strings.ReplaceAll(text, project, "P")); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestHaftsOwnCommands(t *testing.T) {
	for _, b := range command.Builtins() {
		if b.Description == "" || b.Origin != command.Builtin {
			t.Errorf("%s is not complete", b.Name)
		}
	}
	c, err := command.New(command.Options{}).Find("clear")
	if err != nil {
		t.Fatal(err)
	}
	var none *command.NoPrompt
	if _, err := c.Prompt(t.Context(), prompt.Use{}, nil); !errors.As(err, &none) {
		t.Errorf("error %v", err)
	}
}

func TestWhoHasAName(t *testing.T) {
	places := home(t, map[string]string{
		"commands/clear.md":       "mine",
		"commands/both.md":        "a command",
		"skills/both/SKILL.md":    "a skill",
		"commands/mcp__s__ask.md": "a file",
		"skills/memory/SKILL.md":  "remembers",
	})
	set := command.New(command.Options{
		Places: places, Skills: skill.New(places, nil),
		Prompts: func() []command.Prompt {
			return []command.Prompt{{Name: "mcp__s__ask"}, {Name: "mcp__s__tell", Description: "Tell it", Get: func(_ context.Context, args []string) (string, error) {
				return "told " + strings.Join(args, "|") + " $ARGUMENTS !`x`", nil
			}}}
		},
	})
	for name, want := range map[string]command.Origin{"clear": command.Builtin, "both": command.Skill, "mcp__s__ask": command.File, "mcp__s__tell": command.MCP} {
		if c, err := set.Find(name); err != nil || c.Origin != want {
			t.Errorf("%s is of %s (%v), want %s", name, c.Origin, err, want)
		}
	}
	list := set.List()
	for i, name := range []string{"clear", "memory"} {
		if want := fmt.Sprintf("/%s is one of haft's own commands: type /user:%[1]s for the one in this file", name); len(list.Problems) != 2 || list.Problems[i].Text != want {
			t.Errorf("problems: %v", list.Problems)
		}
	}
	var names []string
	for _, c := range own(list) {
		names = append(names, c.Name+" "+string(c.Origin))
	}
	want := []string{"both skill", "fix-issue file", "frontend:component file", "mcp__s__ask file", "mcp__s__tell mcp", "quiet file", "user:clear file", "user:memory skill"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	mine, err := set.Find("user:clear")
	if text, wrong := mine.Prompt(t.Context(), prompt.Use{}, nil); err != nil || wrong != nil || strings.TrimSpace(text) != "mine" {
		t.Errorf("a file named like a command: %q, %v, %v", text, err, wrong)
	}
	if p, err := set.File("user:clear"); err != nil || p.Name != "clear" {
		t.Errorf("its file: %q, %v", p.Name, err)
	}
	if _, err := set.Find("project:clear"); err == nil {
		t.Error("a project that has no such file has the command")
	}
	theirs, err := set.Find("user:memory")
	if text, wrong := theirs.Prompt(t.Context(), prompt.Use{}, nil); err != nil || wrong != nil || theirs.Origin != command.Skill || !strings.HasSuffix(strings.TrimSpace(text), "remembers") {
		t.Errorf("a skill named like a command: %q of %s, %v, %v", text, theirs.Origin, err, wrong)
	}
	if s, err := set.Skill("user:memory"); err != nil || s.Name != "memory" {
		t.Errorf("the skill: %q, %v", s.Name, err)
	}
	c, _ := set.Find("mcp__s__tell")
	if text, err := c.Prompt(t.Context(), prompt.Use{Arguments: "a 'b c'"}, nil); err != nil || text != "told a|b c $ARGUMENTS !`x`" {
		t.Errorf("a server's prompt: %q, %v", text, err)
	}
}

func TestNamesThatAreNotThere(t *testing.T) {
	set := command.New(command.Options{Places: home(t, nil)})
	for name, want := range map[string]string{
		"fixissue": `There is no command named "fixissue". Did you mean fix-issue?`,
		"contxt":   `There is no command named "contxt". Did you mean context?`,
		"zzz":      `There is no command named "zzz". Available: fix-issue, frontend:component, quiet.`,
	} {
		if _, err := set.Find(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func TestLine(t *testing.T) {
	tests := []struct {
		text, name, args string
		ok               bool
	}{
		{"/review", "review", "", true},
		{" /git:commit  a  b\nc ", "git:commit", "a  b\nc", true},
		{"review", "", "", false},
		{"/", "", "", false},
		{"/etc/hosts is broken", "etc/hosts", "is broken", false},
	}
	for _, tt := range tests {
		name, args, ok := command.Line(tt.text)
		if ok != tt.ok || ok && (name != tt.name || args != tt.args) {
			t.Errorf("%q: %q, %q, %t", tt.text, name, args, ok)
		}
	}
}

func TestTheMenuHasWhatAModelMayCall(t *testing.T) {
	list := command.New(command.Options{Places: home(t, nil)}).List()
	want := "- /fix-issue: Fix a GitHub issue\n- /frontend:component: Create a component named $ARGUMENTS."
	if diff := cmp.Diff(want, command.Menu(list.Commands, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOwnTexts expands haft's own texts, and lets a file take the place of one.
func TestOwnTexts(t *testing.T) {
	set := command.New(command.Options{})
	for _, name := range []string{"init", "review", "security-review"} {
		c, err := set.Find(name)
		if err != nil || c.ForModel {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		text, err := c.Prompt(t.Context(), prompt.Use{Arguments: "only the parser", Dir: t.TempDir()}, func(context.Context, prompt.Request) (tool.Result, error) {
			t.Errorf("/%s calls a tool", name)
			return tool.Result{}, nil
		})
		if err != nil || strings.Count(text, "only the parser") != 1 || strings.Contains(text, "$ARGUMENTS") {
			t.Errorf("/%s: %v\n%s", name, err, text)
		}
	}
	mine := command.New(command.Options{Places: home(t, map[string]string{"commands/review.md": "my review"})})
	if c, err := mine.Find("review"); err != nil || c.Origin != command.File {
		t.Errorf("%+v, %v", c, err)
	}
	n := 0
	for _, c := range mine.List().Commands {
		if c.Name == "review" {
			n++
		}
	}
	if problems := mine.List().Problems; n != 1 || len(problems) != 0 {
		t.Errorf("%d commands of the name, problems %v", n, problems)
	}
}

// The guide lists exactly the commands that a file of the same name does not replace.
func TestTheGuideListsWhatCannotBeReplaced(t *testing.T) {
	files := map[string]string{}
	for _, b := range command.Builtins() {
		files["commands/"+b.Name+".md"] = "A text of the user's."
	}
	set := command.New(command.Options{Places: home(t, files)})
	var fixed []string
	for _, b := range command.Builtins() {
		c, err := set.Find(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		if c.Origin == command.Builtin {
			fixed = append(fixed, "/"+b.Name)
		}
	}
	guide, err := os.ReadFile("../../../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(guide), "These built-in commands cannot be replaced: `")
	list, _, _ = strings.Cut(list, "`")
	if d := cmp.Diff(fixed, strings.Fields(list)); d != "" {
		t.Errorf("docs/skills.md (-program +guide):\n%s", d)
	}
}
