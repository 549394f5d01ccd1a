package style_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/style"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(list style.Listing) string {
	var all []string
	for _, s := range list.Styles {
		all = append(all, s.Name)
	}
	return strings.Join(all, ", ")
}

func TestHaftsOwnStyles(t *testing.T) {
	list := style.New(nil, nil).List()
	if got := names(list); got != "default, Explanatory, Learning" {
		t.Errorf("got %s", got)
	}
	for _, s := range list.Styles {
		if s.Description == "" || !s.Builtin || !s.Coding || (s.Text == "") != (s.Name == style.Default) {
			t.Errorf("%s is not complete: %+v", s.Name, s)
		}
	}
}

func TestStylesOfFiles(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	write(t, home, ".claude/output-styles/teacher.md", "---\nname: My Teacher\ndescription: Teaches\nkeep-coding-instructions: true\n---\nTeach.\n")
	write(t, home, ".claude/output-styles/terse.md", "Be terse.\n")
	write(t, home, ".claude/output-styles/Learning.md", "Mine.\n")
	write(t, home, ".claude/output-styles/default.md", "Not mine.\n")
	write(t, home, ".claude/output-styles/empty.md", "---\ndescription: nothing\n---\n")
	write(t, home, ".claude/output-styles/odd.md", "---\nname: \"\\e[31mred\"\n---\nX.\n")
	write(t, project, ".claude/output-styles/poet.md", "Rhyme.\n")
	user, ofProject := knowledge.Places(home, filepath.Join(home, ".claude"), project, project)
	places := append(ofProject, user...)

	list := style.New(places, nil).List()
	if got := names(list); got != "default, Explanatory, Learning, My Teacher, odd, terse" {
		t.Errorf("got %s", got)
	}
	if len(list.Problems) != 2 || len(list.Held) != 1 || list.Held[0].Name != "poet" {
		t.Errorf("problems %v, held %v", list.Problems, list.Held)
	}
	for name, want := range map[string]style.Style{
		"my teacher":  {Name: "My Teacher", Text: "Teach.", Coding: true},
		"terse":       {Name: "terse", Text: "Be terse."},
		"learning":    {Name: "Learning", Text: "Mine."},
		style.Default: {Name: style.Default, Coding: true},
	} {
		got, err := style.New(places, nil).Find(name)
		if err != nil || got.Name != want.Name || got.Text != want.Text || got.Coding != want.Coding {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	var missing *knowledge.Missing
	if _, err := style.New(places, nil).Find("poet"); !errors.As(err, &missing) || !missing.Held {
		t.Errorf("an untrusted style: %v", err)
	}
	if _, err := style.New(places, nil).Find("ters"); err == nil || !strings.Contains(err.Error(), "terse") {
		t.Errorf("a misspelt style: %v", err)
	}
	got, err := style.New(places, func(knowledge.Claim) bool { return true }).Find("poet")
	if err != nil || got.Text != "Rhyme." {
		t.Errorf("a trusted style: %+v, %v", got, err)
	}
}
