package workdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/internal/harness/workdir"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// newDirs returns the working directories of a repository with one file.
func newDirs(t *testing.T) (*workdir.Dirs, string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init -q", "add a.txt", "-c user.name=n -c user.email=e@example.com commit -q -m first"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	host := shellrun.NewHost(nil)
	t.Cleanup(func() { host.Close() })
	return workdir.New(&workdir.Options{Root: root, Shell: bash.New(host, &bash.Options{Dir: root}), Link: link.New(nil)}), root
}

func TestACopyWithoutWorkGoes(t *testing.T) {
	dirs, root := newDirs(t)
	dir := dirs.For("a1", true)
	if err := dir.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied := dir.Path()
	if _, err := os.Stat(filepath.Join(copied, "a.txt")); err != nil || copied == root {
		t.Fatalf("the agent works in %s: %v", copied, err)
	}
	if path, branch := dir.Close(); path != "" || branch != "" {
		t.Errorf("Close = %q, %q; there is no work in it", path, branch)
	}
	if _, err := os.Lstat(copied); !os.IsNotExist(err) {
		t.Errorf("the copy is still there: %v", err)
	}
}

func TestACopyWithWorkStaysAndIsFoundAgain(t *testing.T) {
	dirs, root := newDirs(t)
	dir := dirs.For("a1", true)
	if err := dir.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied := dir.Path()
	if err := os.WriteFile(filepath.Join(copied, "a.txt"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if stray := dir.Stray(filepath.Join(root, "a.txt")); !strings.Contains(stray, filepath.Join(copied, "a.txt")) {
		t.Errorf("a change of the project's file is told %q, which does not name the copy's", stray)
	}
	for _, fine := range []string{filepath.Join(copied, "a.txt"), "a.txt", filepath.Join(os.TempDir(), "x")} {
		if stray := dir.Stray(fine); stray != "" {
			t.Errorf("%s: %q", fine, stray)
		}
	}
	if path, branch := dir.Close(); path != copied || branch == "" {
		t.Errorf("Close = %q, %q; want %s and its branch", path, branch, copied)
	}
	again := dirs.For("a1", true)
	if err := again.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(filepath.Join(again.Path(), "a.txt")); string(raw) != "b\n" {
		t.Errorf("the agent finds %q in %s: %v", raw, again.Path(), err)
	}
	again.Close()
}

func TestWithoutIsolationItIsTheProject(t *testing.T) {
	dirs, root := newDirs(t)
	dir := dirs.For("a2", false)
	if err := dir.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dir.Path() != root || dir.Stray(filepath.Join(root, "a.txt")) != "" {
		t.Errorf("it works in %s, want %s", dir.Path(), root)
	}
	if path, branch := dir.Close(); path != "" || branch != "" {
		t.Errorf("Close = %q, %q", path, branch)
	}
}
