package harness_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/harness"
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
