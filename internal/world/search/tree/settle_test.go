package tree_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/search/tree"
	"github.com/haftdev/haft/internal/world/search/watch"
)

// TestChangesWithinOneTickAreSeen changes files and directories right after they
// were looked at, when the file system's clock may give the change the same time,
// and asks when that time is long past.
func TestChangesWithinOneTickAreSeen(t *testing.T) {
	type built struct {
		tr  *tree.Tree
		old *tree.File
	}
	var all []built
	base := t.TempDir()
	for i := range 100 {
		dir := filepath.Join(base, fmt.Sprint(i))
		write(t, filepath.Join(dir, "a.txt"), "one\n")
		tr, err := tree.Build(context.Background(), dir, &tree.Options{Stat: true})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		write(t, filepath.Join(dir, "a.txt"), "two\n")
		write(t, filepath.Join(dir, "b.txt"), "new\n")
		all = append(all, built{tr, tr.Files(dir)[0]})
	}
	time.Sleep(50 * time.Millisecond)
	for _, b := range all {
		files, _, err := b.tr.View(context.Background(), b.tr.Root)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != 2 {
			t.Errorf("%s: %d files, want 2", b.tr.Root, len(files))
		}
		for _, f := range files {
			if f == b.old && !f.Unsteady {
				t.Errorf("%s is taken for the version before the change", f.Path)
			}
		}
	}
}

// TestNewFilesAreUnsteady has files that are new when looked at, with nobody to
// announce what a tick hides.
func TestNewFilesAreUnsteady(t *testing.T) {
	few := func(left int32) func(t *testing.T) tree.Watcher {
		return func(t *testing.T) tree.Watcher {
			w, err := watch.New()
			if err != nil {
				t.Skip(err)
			}
			return newLimited(w, left)
		}
	}
	for name, watcher := range map[string]func(*testing.T) tree.Watcher{
		"without a watcher":                func(*testing.T) tree.Watcher { return nil },
		"with a watcher that is lost":      few(2),
		"with a watcher that is of no use": few(0),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i := range 3 {
				write(t, filepath.Join(dir, fmt.Sprintf("d%d/f.txt", i)), "hay\n")
			}
			w, start := watcher(t), time.Now()
			write(t, filepath.Join(dir, "f.txt"), "hay\n")
			tr, err := tree.Build(context.Background(), dir, &tree.Options{Stat: true, Watcher: w})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			if time.Since(start) > 20*time.Millisecond {
				t.Skip("too slow just now for the file to be new when it is looked at")
			}
			for _, f := range tr.Files(dir) {
				if f.Path == filepath.Join(dir, "f.txt") && !f.Unsteady {
					t.Error("a file as new as that is trusted")
				}
			}
		})
	}
}
