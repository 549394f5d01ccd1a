package tree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/world/search/tree"
	"github.com/haftdev/haft/internal/world/search/watch"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, tr *tree.Tree) []string {
	t.Helper()
	files, known, err := tr.View(context.Background(), tr.Root)
	if err != nil || !known {
		t.Fatalf("View: %v, %v", known, err)
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimPrefix(f.Path, tr.Root+"/"))
	}
	slices.Sort(out)
	return out
}

// limited is a watcher that the system refuses more than a few watches.
type limited struct {
	tree.Watcher
	left   atomic.Int32
	closed bool
}

func newLimited(w tree.Watcher, left int32) *limited {
	l := &limited{Watcher: w}
	l.left.Store(left)
	return l
}

func (l *limited) Add(dir string) (int32, error) {
	if l.left.Add(-1) < 0 {
		return -1, errors.New("no space left on device")
	}
	return l.Watcher.Add(dir)
}

func (l *limited) Close() {
	l.closed = true
	l.Watcher.Close()
}

func TestTooFewWatchesFallBackToLooking(t *testing.T) {
	all, err := watch.New()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(dir, fmt.Sprintf("d%d/f.txt", i)), "")
	}
	w := newLimited(all, 5)
	tr, err := tree.Build(context.Background(), dir, &tree.Options{Stat: true, Watcher: w, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if !w.closed {
		t.Error("the tree keeps a watcher that cannot watch all of it")
	}
	write(t, filepath.Join(dir, "d3/new.txt"), "")
	os.RemoveAll(filepath.Join(dir, "d4"))
	want := []string{"d0/f.txt", "d1/f.txt", "d2/f.txt", "d3/f.txt", "d3/new.txt", "d5/f.txt", "d6/f.txt", "d7/f.txt", "d8/f.txt", "d9/f.txt"}
	if d := cmp.Diff(want, names(t, tr)); d != "" {
		t.Error(d)
	}
}

func TestAChangedFileIsAnotherVersion(t *testing.T) {
	w, err := watch.New()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f.txt")
	write(t, path, "one")
	write(t, filepath.Join(dir, "g.txt"), "")
	tr, err := tree.Build(context.Background(), dir, &tree.Options{Stat: true, Watcher: w})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	ids := func() map[string]uint32 {
		names(t, tr)
		m := map[string]uint32{}
		for _, f := range tr.Files(dir) {
			m[f.Name()] = f.ID
		}
		return m
	}
	first := ids()
	if d := cmp.Diff(first, ids()); d != "" {
		t.Errorf("versions changed by themselves:\n%s", d)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "two")
	if err := os.Chtimes(path, fi.ModTime(), fi.ModTime()); err != nil { // hides the change from mtime and size
		t.Fatal(err)
	}
	second := ids()
	if second["f.txt"] == first["f.txt"] || second["g.txt"] != first["g.txt"] {
		t.Errorf("first %v, then %v", first, second)
	}
}

// TestAReplacedDirectoryIsWatchedAgain makes a new directory under an old name, which
// often gets the old one's inode as well, and then changes a file in it.
func TestAReplacedDirectoryIsWatchedAgain(t *testing.T) {
	w, err := watch.New()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "d/f.txt")
	write(t, path, "one")
	tr, err := tree.Build(context.Background(), dir, &tree.Options{Stat: true, Watcher: w})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	id := func() uint32 {
		names(t, tr)
		return tr.Files(dir)[0].ID
	}
	for range 20 {
		os.RemoveAll(filepath.Dir(path))
		write(t, path, "one")
		before := id()
		write(t, path, "two")
		if id() == before {
			t.Fatal("a change in the new directory went unnoticed")
		}
	}
}

// TestHalfAnUpdateIsForgotten cancels an update that has new directories to walk.
func TestHalfAnUpdateIsForgotten(t *testing.T) {
	w, err := watch.New()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	tr, err := tree.Build(context.Background(), dir, &tree.Options{Stat: true, Watcher: w})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	write(t, filepath.Join(dir, "new/f.txt"), "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := tr.View(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if files, known, err := tr.View(context.Background(), dir); known || err != nil {
		t.Errorf("the tree still claims to know its %d files (%v)", len(files), err)
	}
}

func TestMaxFilesEndsTheWalk(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, filepath.Join(dir, fmt.Sprintf("d%d/f.txt", i)), "")
	}
	tr, err := tree.Build(context.Background(), dir, &tree.Options{MaxFiles: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if files, _, full := tr.Size(); !full || files >= 50 {
		t.Errorf("%d files, full %v", files, full)
	}
}

func TestWhatIsSkippedIsCounted(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".git/config"), "")
	write(t, filepath.Join(dir, ".gitignore"), "*.log\nout/\n")
	write(t, filepath.Join(dir, "a.log"), "")
	write(t, filepath.Join(dir, "sub/b.log"), "")
	write(t, filepath.Join(dir, "out/c.txt"), "")
	if err := os.Symlink("a.log", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	tr, err := tree.Build(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if d := cmp.Diff(tree.Skipped{IgnoredFiles: 2, IgnoredDirs: 1, Links: 1}, tr.Skipped(dir)); d != "" {
		t.Error(d)
	}
}
