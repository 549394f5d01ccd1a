package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/test/needtest"
)

// TestAUsersOwnSettingsStayOutOfTheRepository asks git itself what it would commit.
func TestAUsersOwnSettingsStayOutOfTheRepository(t *testing.T) {
	git := needtest.Program(t, "git")
	run := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	top := t.TempDir()
	run(top, "init", "-q")
	run(top, "commit", "-q", "--allow-empty", "-m", "begin")
	tree := filepath.Join(t.TempDir(), "tree")
	run(top, "worktree", "add", "-q", tree)
	for _, dir := range []string{top, filepath.Join(top, "sub"), tree} {
		path := filepath.Join(dir, ".claude", "settings.local.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := project.Untracked(path); err != nil {
				t.Fatal(err)
			}
		}
		if out := run(dir, "status", "--porcelain", "--untracked-files=all"); out != "" {
			t.Errorf("in %s git sees %s", dir, out)
		}
	}
	exclude, err := os.ReadFile(filepath.Join(top, ".git", "info", "exclude"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(exclude), "settings.local.json"); n != 2 { // the tree's is the same line
		t.Errorf("%d lines in\n%s", n, exclude)
	}
}

// TestAnExcludeFileThatLeadsElsewhereIsLeftAlone: a folder from elsewhere cannot have a line
// written into any file that it names.
func TestAnExcludeFileThatLeadsElsewhereIsLeftAlone(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	info := filepath.Join(dir, ".git", "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(info, "exclude")); err != nil {
		t.Fatal(err)
	}
	if err := project.Untracked(filepath.Join(dir, ".claude", "settings.local.json")); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(victim); string(text) != "mine\n" {
		t.Errorf("it became %q", text)
	}
	if err := project.Untracked(filepath.Join(t.TempDir(), "settings.local.json")); err != nil {
		t.Errorf("without a repository: %v", err)
	}
}
