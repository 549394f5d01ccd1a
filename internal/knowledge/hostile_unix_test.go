//go:build unix

package knowledge_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/knowledge"
)

func TestPipesAndDevicesNeverHoldUs(t *testing.T) {
	tr := newTree(t, "-- home/.claude/skills/zero/SKILL.md-> --\n/dev/zero\n-- home/.claude/skills/good/SKILL.md --\ngood\n"+
		"-- project/.claude/skills/random/SKILL.md-> --\n/dev/random\n")
	pipe := filepath.Join(tr.home, ".claude/skills/pipe/SKILL.md")
	if err := os.MkdirAll(filepath.Dir(pipe), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(tr.project, ".claude/skills/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(tr.project, ".claude/skills/deep/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr.write("project/.claude/skills/deep/SKILL.md", "deep")
	done := make(chan struct{})
	go func() {
		defer close(done)
		pieces, _, problems := tr.show(tr.library(knowledge.Skill, all).List())
		want := []string{"deep (project/.claude/skills/deep/SKILL.md): deep", "good (home/.claude/skills/good/SKILL.md): good"}
		if diff := cmp.Diff(want, pieces); diff != "" {
			t.Errorf("pieces (-want +got):\n%s", diff)
		}
		wrong := []string{
			"home/.claude/skills/pipe/SKILL.md: skipped: not a regular file",
			"home/.claude/skills/zero/SKILL.md: skipped: not a regular file",
		}
		if diff := cmp.Diff(wrong, problems); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("still waiting")
	}
}
