package prompt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/tool"
)

// echo answers each call with its name and input.
func echo(_ context.Context, r prompt.Request) (tool.Result, error) {
	return tool.Text("<" + r.Tool + " " + string(r.Input) + ">"), nil
}

func TestExpand(t *testing.T) {
	tests := []struct {
		name, text string
		use        prompt.Use
		want       string
	}{
		{"text stays as it is", "Hi $there ${HOME} $100", prompt.Use{}, "Hi $there ${HOME} $100"},
		{"all arguments", "Fix #$ARGUMENTS now", prompt.Use{Arguments: " 42 high "}, "Fix #42 high now"},
		{"arguments by number", "$1 then $2, not $3.", prompt.Use{Arguments: `a "b c"`}, "a then b c, not ."},
		{"numbers from zero", "$0 then $1", prompt.Use{Arguments: "a b"}, "a then b"},
		{"numbers in brackets", "$ARGUMENTS[1] after $ARGUMENTS[0]", prompt.Use{Arguments: "a b"}, "b after a"},
		{"arguments by name", "$issue-$prio and $other", prompt.Use{Arguments: "7 low", Names: []string{"issue", "prio"}}, "7-low and $other"},
		{"a name with a dash", "$due-date", prompt.Use{Arguments: "now", Names: []string{"due-date"}}, "now"},
		{"variables", "See ${CLAUDE_SKILL_DIR}/x", prompt.Use{Vars: map[string]string{"CLAUDE_SKILL_DIR": "/s"}}, "See /s/x"},
		{"arguments that nothing asks for follow", "Do it.", prompt.Use{Arguments: "quickly"}, "Do it.\n\nARGUMENTS: quickly"},
		{"a command's output takes its place", "Status: !`git status`\n", prompt.Use{}, `Status: <Bash {"command":"git status"}>`},
		{"commands take arguments", "!`gh issue view $1`", prompt.Use{Arguments: "7"}, `<Bash {"command":"gh issue view 7"}>`},
		{"a block of commands", "a\n```!\nls\npwd\n```\nb", prompt.Use{}, "a\n" + `<Bash {"command":"ls\npwd"}>` + "\nb"},
		{"an exclamation is no command", "Hi!`x` and ! `y` and !``", prompt.Use{}, "Hi!`x` and ! `y` and !``"},
		{"an argument cannot bring a command", "Say $ARGUMENTS", prompt.Use{Arguments: "!`rm -rf /`"}, "Say !`rm -rf /`"},
		{"an argument is not replaced again", "$1", prompt.Use{Arguments: "$ARGUMENTS"}, "$ARGUMENTS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := prompt.Parse(tt.text).Expand(t.Context(), tt.use, echo)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMentionedFilesFollow(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.go", "b.go", "secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	quiet := func(_ context.Context, r prompt.Request) (tool.Result, error) {
		if r.Tool == "Bash" {
			return tool.Text("output mentions @secret"), nil
		}
		return tool.Text(filepath.Base(string(r.Input[:len(r.Input)-2]))), nil
	}
	got, err := prompt.Parse("Look at @a.go, @gone and !`x` with $ARGUMENTS").Expand(t.Context(), prompt.Use{Arguments: "@b.go", Dir: dir}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	want := "Look at @a.go, @gone and output mentions @secret with @b.go\n\n<file path=\"DIR/a.go\">\na.go\n</file>\n\n<file path=\"DIR/b.go\">\nb.go\n</file>"
	if diff := cmp.Diff(want, strings.ReplaceAll(got, dir, "DIR")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMentionsOfLinesAndFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	var asked []string
	calls := func(_ context.Context, r prompt.Request) (tool.Result, error) {
		asked = append(asked, r.Tool+" "+strings.ReplaceAll(string(r.Input), dir, "DIR"))
		return tool.Text("x"), nil
	}
	got, _, err := prompt.Mentioned(t.Context(), calls, prompt.Use{Dir: dir}, "看@a.go#L10-20，@sub，@a.go#L9-3")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`Read {"file_path":"DIR/a.go","limit":11,"offset":10}`, `Glob {"path":"DIR/sub","pattern":"*"}`}
	if diff := cmp.Diff(want, asked); diff != "" || !strings.Contains(got, "</folder>") {
		t.Errorf("%s\n(-want +got):\n%s", got, diff)
	}
}

func TestACommandThatMayNotRunStopsTheUse(t *testing.T) {
	denied := errors.New("denied")
	ran := 0
	_, err := prompt.Parse("!`a` !`b`").Expand(t.Context(), prompt.Use{Allow: []string{"Bash(a)"}}, func(_ context.Context, r prompt.Request) (tool.Result, error) {
		ran++
		if diff := cmp.Diff([]string{"Bash(a)"}, r.Allow); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
		return tool.Result{}, denied
	})
	if !errors.Is(err, denied) || ran != 1 {
		t.Errorf("ran %d, error %v", ran, err)
	}
	if _, err := prompt.Parse("!`a`").Expand(t.Context(), prompt.Use{}, nil); err == nil {
		t.Error("a command ran without anything to run it")
	}
}

func TestCommandsAreKnownBeforehand(t *testing.T) {
	got := prompt.Parse("!`git log $1` and\n!`ls`").Commands()
	if diff := cmp.Diff([]string{"git log $1", "ls"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWords(t *testing.T) {
	tests := map[string][]string{
		``:              nil,
		`  a  b `:       {"a", "b"},
		`"a b" 'c d'`:   {"a b", "c d"},
		`don't stop`:    {"don't", "stop"},
		`""`:            {""},
		`--x="a b" end`: {"--x=a b", "end"},
		`"open`:         {"open"},
	}
	for in, want := range tests {
		if diff := cmp.Diff(want, prompt.Words(in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("Hi $1 !`a $ARGUMENTS` ${X}\n```!\nx\n```\n", "b 'c d'")
	f.Fuzz(func(t *testing.T, text, args string) {
		template := prompt.Parse(text)
		var ran int
		_, err := template.Expand(t.Context(), prompt.Use{Arguments: args}, func(context.Context, prompt.Request) (tool.Result, error) {
			ran++
			return tool.Text("!`again`"), nil
		})
		if err != nil || ran != len(template.Commands()) {
			t.Errorf("ran %d of %d commands: %v", ran, len(template.Commands()), err)
		}
	})
}
