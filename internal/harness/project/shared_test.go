package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/harness/project"
)

// TestAnotherFolderIsReadAndGuarded sets CLAUDE_CONFIG_DIR as programs do that keep their
// users apart.
func TestAnotherFolderIsReadAndGuarded(t *testing.T) {
	for name, where := range map[string]string{"beside the project": "config", "around the project": "."} {
		t.Run(name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			shared, dir := filepath.Join(base, where), filepath.Join(base, "project")
			t.Setenv("HOME", filepath.Join(base, "home"))
			t.Setenv("XDG_CONFIG_HOME", "")
			t.Setenv("XDG_CACHE_HOME", "")
			t.Setenv("CLAUDE_CONFIG_DIR", shared)
			for path, text := range map[string]string{
				filepath.Join(shared, "settings.json"):            `{"outputStyle": "terse"}`,
				filepath.Join(shared, "output-styles/terse.md"):   "Be terse.",
				filepath.Join(shared, "skills/pdf/SKILL.md"):      "Read it.",
				filepath.Join(dir, "main.go"):                     "package main",
				filepath.Join(base, "home/.claude/settings.json"): `{"outputStyle": "Learning"}`,
			} {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			p, err := project.Open(&project.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if st, err := p.Style(); err != nil || st.Text != "Be terse." {
				t.Errorf("the style is %+v, %v", st, err)
			}
			if _, err := p.Library.Skills.Read("pdf"); err != nil {
				t.Error(err)
			}
			if got := p.Guard.Look(filepath.Join(shared, "settings.json")); got.Sensitive.What == "" {
				t.Errorf("a tool may write the settings: %+v", got)
			}
			if got := p.Guard.Look(filepath.Join(dir, "main.go")); got.Sensitive.What != "" {
				t.Errorf("a tool may not write the project: %+v", got)
			}
		})
	}
}
