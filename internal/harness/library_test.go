package harness_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
)

// written returns the names of skills, commands and agents that are not haft's own.
func written(w *harness.World) string {
	var names []string
	for _, s := range w.Project.Library.Skills.List().Skills {
		names = append(names, "skill "+s.Name)
	}
	for _, c := range w.Project.Library.Commands.List().Commands {
		if c.Origin == "file" {
			names = append(names, "/"+c.Name)
		}
	}
	for _, d := range w.Project.Library.Agents.List().Definitions {
		if !d.Builtin {
			names = append(names, "agent "+d.Name)
		}
	}
	return strings.Join(names, ", ")
}

func TestPluginsCountIfThePersonEnabledThem(t *testing.T) {
	files := map[string]string{
		"home/.claude/plugins/installed_plugins.json": `{"plugins":{"yes@m":[{"scope":"user","installPath":"$BASE/cache/yes"}],"no@m":[{"scope":"user","installPath":"$BASE/cache/no"}]}}`,
		"home/.claude/settings.json":                  `{"enabledPlugins":{"yes@m":true}}`,
		"project/.claude/settings.json":               `{"enabledPlugins":{"no@m":true}}`,
		"cache/yes/commands/a.md":                     "a",
		"cache/yes/hooks/hooks.json":                  `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`,
		"cache/no/commands/b.md":                      "b",
	}
	w := open(t, harness.Options{}, files)
	if got := written(w); got != "/yes:a" {
		t.Errorf("there are %s", got)
	}
	if hooks := w.Project.Counts.Hooks(); len(hooks) != 1 || hooks[0].Event != "Stop" {
		t.Errorf("hooks %v", hooks)
	}
}

func TestSourcesThatAreNotWantedAreNotRead(t *testing.T) {
	files := map[string]string{
		"home/.claude/skills/mine/SKILL.md": "x",
		"home/.claude/agents/mine.md":       "---\ndescription: x\n---\nx",
		"project/.claude/commands/their.md": "x",
	}
	w := open(t, harness.Options{Sources: []settings.Source{}, Agents: []agentdef.Definition{{Name: "given", Description: "x", Prompt: "x"}}}, files)
	if got := written(w); got != "agent given" {
		t.Errorf("there are %s", got)
	}
	if held := w.Project.HeldClaims(); len(held) != 0 {
		t.Errorf("held %v", held)
	}
}

func TestTrustBringsAProjectsFiles(t *testing.T) {
	w := open(t, harness.Options{}, map[string]string{
		"project/.claude/skills/s/SKILL.md":        "s",
		"project/.haft/commands/c.md":              "c",
		"project/.haft/plugins/p/agents/a.md":      "---\ndescription: a\n---\na",
		"project/.haft/plugins/p/hooks/hooks.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`,
		"project/CLAUDE.md":                        "@../shared.md",
		"shared.md":                                "shared",
	})
	if got := written(w); got != "" {
		t.Errorf("before trust there are %s", got)
	}
	var items []string
	for _, i := range w.Project.Items() {
		items = append(items, string(i.Kind)+" "+strings.ReplaceAll(i.Name, strings.TrimSuffix(w.Project.Dir, "project"), ""))
	}
	want := []string{"hook Stop", "skill s", "command c", "agent p:a", "include shared.md"}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if err := w.Project.Folder.Grant(t.Context(), w.Project.Items()...); err != nil {
		t.Fatal(err)
	}
	if got := written(w); got != "skill s, /c, agent p:a" {
		t.Errorf("after trust there are %s", got)
	}
	if held := w.Project.HeldClaims(); len(held) != 0 {
		t.Errorf("held %v", held)
	}
}
