package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withPath is OS with another PATH.
type withPath struct {
	OS
	path string
}

func (w withPath) SearchPath() string { return w.path }

func TestProgramsComeFromSafeDirectories(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, good, open := filepath.Join(top, "proj"), filepath.Join(top, "good"), filepath.Join(top, "open")
	for dir, mode := range map[string]os.FileMode{filepath.Join(project, "node_modules/.bin"): 0o755, good: 0o755, open: 0o777} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(filepath.Join(project, "node_modules/.bin"), link); err != nil {
		t.Fatal(err)
	}
	list := []string{"", ".", "bin", filepath.Join(project, "node_modules/.bin"), link, open, filepath.Join(top, "missing"), good}
	env, _ := Hardening(&Options{Cwd: project, Roots: []string{project}, FS: withPath{path: strings.Join(list, ":")}})
	if want := "PATH=" + good; !slices.Contains(env, want) {
		t.Errorf("the environment has no %s: %q", want, slices.DeleteFunc(env, func(s string) bool { return !strings.HasPrefix(s, "PATH=") }))
	}
}
