package trust_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/knowledge"
)

func TestTrustInASkillIsBoundToAllOfIt(t *testing.T) {
	m := newMachine(t)
	m.write("project/x", "")
	f := m.folder()
	claim := knowledge.Claim{Kind: knowledge.Skill, Name: "pdf", Path: "/p/SKILL.md", Text: "a\nb\nc\n", Files: map[string]string{"run.sh": "1"}}
	if f.Agreed(claim) {
		t.Fatal("nobody has agreed to it")
	}
	if err := f.Grant(t.Context(), f.Claim(claim)); err != nil {
		t.Fatal(err)
	}
	if !f.Agreed(claim) {
		t.Error("it is not trusted")
	}
	moved := claim
	moved.Path = "/p/elsewhere/SKILL.md"
	if !f.Agreed(moved) {
		t.Error("moved, it is not trusted any more")
	}
	for name, change := range map[string]func(*knowledge.Claim){
		"its text":       func(c *knowledge.Claim) { c.Text += "d" },
		"its name":       func(c *knowledge.Claim) { c.Name = "pdf2" },
		"its kind":       func(c *knowledge.Claim) { c.Kind = knowledge.Command },
		"a file":         func(c *knowledge.Claim) { c.Files = map[string]string{"run.sh": "2"} },
		"one more file":  func(c *knowledge.Claim) { c.Files = map[string]string{"run.sh": "1", "x": "3"} },
		"a file is gone": func(c *knowledge.Claim) { c.Files = nil },
	} {
		changed := claim
		change(&changed)
		if f.Agreed(changed) {
			t.Errorf("%s changed, and it is still trusted", name)
		}
	}
	m.write("project/scripts/deploy.sh", "good")
	m.write("project/.haft/plugins/p/x.sh", "good")
	claim.Grants = []string{"runs: ./scripts/deploy.sh --now"}
	claim.Runs = []string{"./scripts/deploy.sh --now", "Bash(scripts/deploy.sh:*)", m.path("project/.haft/plugins/p/x.sh"), "git status"}
	if diff := cmp.Diff([]string{"/.haft/plugins/p/x.sh", "/scripts/deploy.sh", "run.sh"}, f.Claim(claim).Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := f.Grant(t.Context(), f.Claim(claim)); err != nil {
		t.Fatal(err)
	}
	m.write("project/scripts/deploy.sh", "evil")
	if f.Agreed(claim) {
		t.Error("a script that it runs changed, and it is still trusted")
	}
	if got := f.Claim(claim).String(); !strings.Contains(got, "3 more files; runs: ./scripts/deploy.sh --now ") {
		t.Errorf("what it runs is not told: %s", got)
	}
	claim.Runs = []string{`echo once >> "$CLAUDE_PROJECT_DIR/once.log"`}
	if err := f.Grant(t.Context(), f.Claim(claim)); err != nil {
		t.Fatal(err)
	}
	m.write("project/once.log", "once")
	if !f.Agreed(claim) {
		t.Error("it wrote to its own log, and is not trusted any more")
	}
	claim.Runs, claim.Grants = nil, nil
	if diff := cmp.Diff("skill pdf: 3 lines, 1 more file (/p/SKILL.md:1)", f.Claim(claim).String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := f.Outside("/p/CLAUDE.md", "/etc/x"); got.Kind != trust.Include || got.Name != "/etc/x" {
		t.Errorf("include %+v", got)
	}
}

// TestTrustInAnAgentOfEarlierIsNotForItsHooks: they did not run when it was given.
func TestTrustInAnAgentOfEarlierIsNotForItsHooks(t *testing.T) {
	m := newMachine(t)
	m.write("project/x", "")
	f := m.folder()
	for kind, kept := range map[knowledge.Kind]bool{knowledge.Agent: false, knowledge.Command: false, knowledge.Skill: true} {
		claim := knowledge.Claim{Kind: kind, Name: "x", Path: "/p/x.md", Text: "a"}
		if err := f.Grant(t.Context(), f.Claim(claim)); err != nil {
			t.Fatal(err)
		}
		claim.Hooks = true
		if f.Agreed(claim) != kept {
			t.Errorf("the hooks of the %s are trusted: %t, want %t", kind, !kept, kept)
		}
		if err := f.Grant(t.Context(), f.Claim(claim)); err != nil {
			t.Fatal(err)
		}
		if !f.Agreed(claim) {
			t.Errorf("the %s with its hooks is not trusted", kind)
		}
	}
}
