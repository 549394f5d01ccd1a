package harness_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/sched"
)

func TestFoldersComeAndGo(t *testing.T) {
	dir, more := t.TempDir(), t.TempDir()
	t.Setenv("HOME", t.TempDir())
	w, err := harness.Open(&harness.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.AddDirectories([]string{more, more}); err != nil {
		t.Fatal(err)
	}
	roots := w.Engine.Guard().Roots()
	if len(roots) != 2 || !slices.Contains(roots, more) {
		t.Errorf("roots %v", roots)
	}
	if err := w.AddDirectories([]string{filepath.Join(more, "missing")}); err == nil {
		t.Error("a folder that does not exist was added")
	}
	if err := w.RemoveDirectories([]string{more, dir}); err != nil {
		t.Fatal(err)
	}
	if roots := w.Engine.Guard().Roots(); len(roots) != 1 {
		t.Errorf("roots %v after they were removed", roots)
	}
}

// The folder of the user's settings stays closed when folders are added, wherever CLAUDE_CONFIG_DIR says it is.
func TestAddedFoldersOpenNoSettings(t *testing.T) {
	r := newRig(t)
	shared := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", shared)
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	write := in("file_path", filepath.Join(shared, "settings.json"), "content", "{}")
	for _, when := range []string{"before", "after"} {
		if out := callIn(t, c, permission.Bypass, "Write", write); out.Status != sched.Denied {
			t.Errorf("%s a folder is added: %v %s", when, out.Status, out.Result.Text())
		}
		if err := c.AddDirectories([]string{t.TempDir()}); err != nil {
			t.Fatal(err)
		}
	}
}
