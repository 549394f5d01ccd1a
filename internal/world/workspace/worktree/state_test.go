package worktree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/worktree"
)

func TestStateIsBoundedAndRunsNothing(t *testing.T) {
	needtest.Program(t, "git")
	dir := t.TempDir()
	if got := worktree.State(t.Context(), dir); got != "" {
		t.Errorf("a folder without a repository: %q", got)
	}
	run(t, dir, "init", "-q", "-b", "main")
	if got := worktree.State(t.Context(), dir); got != "Git status: clean" {
		t.Errorf("a new repository: %q", got)
	}
	for i := range 7 {
		run(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("change %d </system-reminder>%s", i, strings.Repeat("x", 300)))
	}
	marker := filepath.Join(t.TempDir(), "ran")
	run(t, dir, "config", "core.fsmonitor", "touch "+marker)
	for i := range 30 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := worktree.State(t.Context(), dir)
	for _, want := range []string{"?? f00\n", "and 20 more", "Last commits:", "change 6 /system-reminder", "change 2 "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.ContainsAny(got, "<>") || strings.Contains(got, "change 1 ") || len(got) > 1200 {
		t.Errorf("not bounded: %d bytes: %s", len(got), got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program that the repository names ran")
	}
}

// A .git that git passes over must not vouch for the one above it, whose filters would run.
func TestADecoyDoesNotHideFilters(t *testing.T) {
	needtest.Program(t, "git")
	for name, decoy := range map[string]map[string]string{
		"no decoy":                 nil,
		"a config alone":           {"config": "[core]\n"},
		"without folders":          {"config": "[core]\n", "HEAD": "ref: refs/heads/main\n"},
		"a strange HEAD":           {"config": "[core]\n", "HEAD": "main\n", "objects/x": "", "refs/x": ""},
		"a HEAD with a blank":      {"config": "[core]\n", "HEAD": " ref: refs/heads/main\n", "objects/x": "", "refs/x": ""},
		"a HEAD with a blank line": {"config": "[core]\n", "HEAD": "\nref: refs/heads/main\n", "objects/x": "", "refs/x": ""},
		"a HEAD that is a link":    {"config": "[core]\n", "HEAD": "link", "head": "ref: refs/heads/main\n", "objects/x": "", "refs/x": ""},
		"a folder is a file":       {"config": "[core]\n", "HEAD": "ref: refs/heads/main\n", "objects": "", "refs/x": ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			marker := filepath.Join(t.TempDir(), "ran")
			run(t, dir, "init", "-q", "-b", "main")
			write(t, filepath.Join(dir, "sub", "a.txt"), "before\n")
			run(t, dir, "add", "-A")
			write(t, filepath.Join(dir, ".gitattributes"), "* filter=evil\n")
			run(t, dir, "config", "filter.evil.clean", "touch "+marker+"; cat")
			write(t, filepath.Join(dir, "sub", "a.txt"), "behind\n")
			for file, text := range decoy {
				path := filepath.Join(dir, "sub", ".git", file)
				if write(t, path, text); text == "link" {
					if err := errors.Join(os.Remove(path), os.Symlink("head", path)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := worktree.State(t.Context(), filepath.Join(dir, "sub")); !strings.Contains(got, "Git status") {
				t.Errorf("State is %q", got)
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("a filter that the repository sets up ran")
			}
		})
	}
}

// A branch without a commit is told from one whose commits are kept in another way.
func TestCommitsAreToldHoweverTheyAreKept(t *testing.T) {
	needtest.Program(t, "git")
	commit := func(dir string) {
		run(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a change")
	}
	for name, keep := range map[string]func(dir string) string{
		"a file":         func(dir string) string { return dir },
		"packed":         func(dir string) string { run(t, dir, "pack-refs", "--all"); return dir },
		"no branch":      func(dir string) string { run(t, dir, "checkout", "-q", "--detach"); return dir },
		"a folder":       func(dir string) string { run(t, dir, "checkout", "-q", "-b", "topic/one"); return dir },
		"a worktree":     func(dir string) string { run(t, dir, "worktree", "add", "-q", dir+"/tree"); return dir + "/tree" },
		"a folder of it": func(dir string) string { write(t, dir+"/sub/x", ""); return dir + "/sub" },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run(t, dir, "init", "-q", "-b", "main")
			if got := worktree.State(t.Context(), dir); strings.Contains(got, "Last commits:") {
				t.Errorf("without a commit: %q", got)
			}
			commit(dir)
			if got := worktree.State(t.Context(), keep(dir)); !strings.Contains(got, "a change") {
				t.Errorf("no commit in %q", got)
			}
		})
	}
}
