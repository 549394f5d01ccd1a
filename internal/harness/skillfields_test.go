package harness_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// TestASkillWithPathsIsOfferedWhenSuchAFileIsReadOrWritten: not before, once, by the resumed session no second time,
// and one that a rule denies never.
func TestASkillWithPathsIsOfferedWhenSuchAFileIsReadOrWritten(t *testing.T) {
	r := newRig(t)
	r.put(".claude/skills/gopher/SKILL.md", "---\ndescription: HOW TO GO\npaths: \"src/**/*.go, *.mod\"\n---\nGO TEXT\n")
	r.put(".claude/skills/writer/SKILL.md", "---\ndescription: HOW TO WRITE\npaths:\n  - \"**/*.{md,txt}\"\n---\nx\n")
	r.put(".claude/skills/banned/SKILL.md", "---\ndescription: HOW TO BE DENIED\npaths: \"**\"\n---\nx\n")
	other, source := r.put("a.go", "package a\n"), r.put("src/b/c.go", "package b\n")
	read := func(path string) script.Turn {
		return script.Turn{Blocks: []script.Block{call("Read", in("file_path", path))}}
	}
	r = r.with(read(other), read(source), read(source),
		script.Turn{Blocks: []script.Block{call("Write", in("file_path", filepath.Join(r.dir, "new.txt"), "content", "x\n"))}},
		script.Turn{Blocks: []script.Block{call("Skill", `{"skill":"gopher"}`)}}, says("done"), says("resumed"))
	options := harness.Options{TrustProject: true, Mode: "acceptEdits", Disallowed: []string{"Skill(banned)"}}
	c := r.talk(options, harness.TalkOptions{})
	id := c.Agent.Session()
	r.say(c, "work")
	r.close(c)
	c = r.talk(options, harness.TalkOptions{Resume: id})
	defer c.Close(t.Context())
	r.say(c, "and now?")
	bodies := r.bodies()
	for i, want := range [][2]int{{0, 0}, {0, 0}, {1, 0}, {1, 0}, {1, 1}, {1, 1}, {1, 1}} {
		if got := [2]int{strings.Count(bodies[i], "HOW TO GO"), strings.Count(bodies[i], "HOW TO WRITE")}; got != want {
			t.Errorf("request %d names the skills %v times, want %v", i+1, got, want)
		}
		if strings.Contains(bodies[i], "HOW TO BE DENIED") {
			t.Errorf("request %d offers what a rule denies", i+1)
		}
	}
	if !strings.Contains(bodies[5], "GO TEXT") {
		t.Errorf("the skill that was offered is not loaded:\n%s", bodies[5])
	}
}
