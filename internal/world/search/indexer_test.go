package search

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// TestIndexOfSeveralGoroutines has more files than one group holds, so that several
// goroutines build the index: every file must be in it, and none be ruled out that
// matches.
func TestIndexOfSeveralGoroutines(t *testing.T) {
	const files = 500
	dir := t.TempDir()
	for i := range files {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%7, i)), fmt.Sprintf("hay and a needle_%03d in it\n", i))
	}
	s := New(&Options{IndexFrom: 1, Workers: 4, CacheBytes: -1})
	defer s.Close()
	answer(t, s, Query{Dir: dir, Pattern: "first"})
	s.WaitIndexed()
	k := s.trees.kept[0]
	for _, f := range k.tree.Files(dir) {
		if !f.Unsteady && !k.index.index.Known(&f.Slot) {
			t.Errorf("%s is not in the index", f.Path)
		}
	}
	if _, columns := k.index.index.Size(); columns > files {
		t.Errorf("%d signatures of %d files", columns, files)
	}
	for i := range files {
		r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: fmt.Sprintf("needle_%03d", i)})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != 1 || filepath.Base(r.Hits[0].Path) != fmt.Sprintf("f%d.txt", i) {
			t.Fatalf("needle_%03d is found in %v", i, r.Hits)
		}
	}
}
