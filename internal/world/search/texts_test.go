package search

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/world/search/tree"
)

// A query may still be reading a version when another query finds that it is gone.
// What comes too late must not be kept: nobody would ever drop it.
func TestTextsThatComeTooLateAreNotKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.txt")
	writeFile(t, path, "hay\n")
	b := &budget{max: 1 << 20}
	c := newCache(b)
	tr, err := tree.Build(context.Background(), dir, &tree.Options{Stat: true, Dropped: c.drop})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	old := tr.Files(dir)[0]
	writeFile(t, path, "other hay\n")
	files, _, err := tr.View(context.Background(), dir)
	if err != nil || len(files) != 1 || files[0] == old {
		t.Fatalf("View gave %v, %v; want another version", files, err)
	}

	c.put(old, []byte("hay\n"))
	if _, ok := c.get(old); ok || b.used.Load() != 0 {
		t.Errorf("a version that is gone is kept, %d bytes in all", b.used.Load())
	}
	c.clear()
	c.put(&tree.File{ID: 7}, []byte("hay\n"))
	if b.used.Load() != 0 {
		t.Errorf("%d bytes are kept by a cache that was cleared", b.used.Load())
	}
}
