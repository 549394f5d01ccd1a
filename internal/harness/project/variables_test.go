package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/test/golden"
)

// The table in the guide lists the variables that haft honours.
func TestVariablesOfTheGuide(t *testing.T) {
	var table strings.Builder
	table.WriteString("| variable | in haft |\n|---|---|\n")
	variables := project.Variables()
	same := map[string][]string{} // names, by what is done with them
	var rows []string
	for _, v := range variables {
		if same[v.Does] == nil {
			rows = append(rows, v.Does)
		}
		same[v.Does] = append(same[v.Does], "`"+v.Name+"`")
		if !project.Foreign(v.Name) {
			t.Errorf("%s is in the table, but is no name of Claude Code's", v.Name)
		}
	}
	for _, does := range rows {
		fmt.Fprintf(&table, "| %s | %s |\n", strings.Join(same[does], ", "), does)
	}
	if !slices.IsSortedFunc(variables, func(a, b project.Variable) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the variables are not sorted")
	}
	const begin, end = "<!-- variables: go test ./internal/harness/project -run TestVariablesOfTheGuide -update -->\n\n", "\n<!-- end of variables -->"
	file := filepath.Join("..", "..", "..", "docs", "migrate.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("the guide has no place for the table")
	}
	golden.Check(t, file, before+begin+table.String()+end+after)
}

// What is set and has no effect is named once.
func TestWhatHasNoEffectIsNamedOnce(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("CLAUDE_CODE_NEW_THING", "1")
	t.Setenv("CLAUDE_CODE_EFFORT_LEVEL", "high")
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(`{"spinnerTipsEnabled": true, "env": {"ANTHROPIC_NEW_THING": "1", "MINE": "1"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p, err := project.Open(&project.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	got := p.WithoutEffect()
	for _, name := range []string{"CLAUDE_CODE_NEW_THING", "ANTHROPIC_NEW_THING", "spinnerTipsEnabled"} {
		if !strings.Contains(got, name) {
			t.Errorf("%s is not named: %s", name, got)
		}
	}
	for _, name := range []string{"EFFORT", "MINE"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is named: %s", name, got)
		}
	}
	if again := p.WithoutEffect(); again != "" {
		t.Errorf("it is said again: %s", again)
	}
	if !slices.Contains(p.Unused(), "CLAUDE_CODE_NEW_THING") {
		t.Error("the doctor does not list it")
	}
}
