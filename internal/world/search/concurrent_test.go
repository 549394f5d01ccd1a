package search

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// TestQueriesBesideEachOther is for the race detector: queries, some cancelled, run
// beside edits, and the answer after all of it is right.
func TestQueriesBesideEachOther(t *testing.T) {
	dir := t.TempDir()
	for i := range 60 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%5, i)), "hay\n")
	}
	s := New(&Options{IndexFrom: 1})
	defer s.Close()
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			for i := range 30 {
				ctx, cancel := context.WithCancel(context.Background())
				if (i+w)%7 == 0 {
					cancel()
				}
				q := Query{Dir: dir, Pattern: "needle|hay", Mode: Mode(i % 3), Limit: i % 5}
				if i%4 == 0 {
					q.Path = filepath.Join(dir, "d1")
				}
				if _, err := s.Grep(ctx, q); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				if _, err := s.Glob(ctx, GlobQuery{Dir: dir, Pattern: "*.txt", Limit: 3}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	all.Go(func() {
		for i := range 60 {
			writeFile(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%5, i)), "needle\n")
			writeFile(t, filepath.Join(dir, fmt.Sprintf("new%d/g.txt", i%3)), "needle\n")
		}
	})
	all.Wait()
	if got := answer(t, s, Query{Dir: dir, Pattern: "needle"}); len(got) != 63 {
		t.Errorf("%d files after all edits, want 63", len(got))
	}
}
