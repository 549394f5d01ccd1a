package instructions_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/knowledge/instructions"
)

const withRules = `
-- project/CLAUDE.md --
main
-- project/.claude/rules/all.md --
for all
-- project/.claude/rules/deep/go.md --
---
paths: ["**/*.go"]
---
for go
-- project/.claude/rules/broken.md --
---
paths: "{"
---
for nothing
-- project/a.go --
package a
-- project/b.go --
package b
-- project/sub/x.txt --
x
-- home/.claude/rules/mine.md --
my own
`

// TestRules reads rules at once, or once with a file that they are for, and leaves out
// what is excluded.
func TestRules(t *testing.T) {
	p := newPlace(t, withRules)
	project, home := filepath.Join(p.base, "project"), filepath.Join(p.base, "home")
	texts := func(files []instructions.File) (list []string) {
		for _, f := range files {
			list = append(list, f.Text)
		}
		slices.Sort(list)
		return list
	}
	files, problems := instructions.Load(project, home, nil)
	if diff := cmp.Diff([]string{"for all", "main", "my own"}, texts(files)); diff != "" || len(problems) != 1 {
		t.Errorf("at once (-want +got):\n%s%v", diff, problems)
	}
	nested := instructions.NewNested(project, home, nil)
	for _, step := range []struct {
		file string
		want []string
	}{{"sub/x.txt", nil}, {"a.go", []string{"for go"}}, {"b.go", nil}} {
		files, _ := nested.For(filepath.Join(project, filepath.FromSlash(step.file)))
		if diff := cmp.Diff(step.want, texts(files)); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", step.file, diff)
		}
	}
	files, _ = instructions.Load(project, home, &instructions.Options{Excludes: []string{"**/rules/*.md", filepath.Join(project, "CLAUDE.md")}})
	if len(files) != 0 {
		t.Errorf("what is excluded was read: %q", texts(files))
	}
}
