package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// TestMemory asks many queries with edits in between: memory stays flat, and all of
// it, with the watches and goroutines, goes when the searcher is closed. The default
// is 150 queries; HAFT_MEMORY_QUERIES=10000 is the full run.
func TestMemory(t *testing.T) {
	queries := 150
	if v, err := strconv.Atoi(os.Getenv("HAFT_MEMORY_QUERIES")); err == nil {
		queries = v
	}
	dir, _ := sampleTree(t, rand.New(rand.NewPCG(1, 1)), 220)
	files, goroutines, before := openFiles(t), runtime.NumGoroutine(), heapInUse()
	s := New(nil)
	ask := func(i int) {
		q := Query{Dir: dir, Pattern: fmt.Sprintf("func.*%d|Err\\w+%d", i%700, i%13), Limit: 50, Mode: Mode(i % 3)}
		if _, err := s.Grep(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			writeFile(t, filepath.Join(dir, fmt.Sprintf("edit%d.txt", i%40)), fmt.Sprintf("func edited %d\n", i))
		}
	}
	for i := range queries / 3 {
		ask(i)
	}
	s.WaitIndexed()
	warm := heapInUse()
	for i := range queries {
		ask(i)
	}
	s.WaitIndexed()
	after := heapInUse()
	if after > warm+warm/4+(2<<20) {
		t.Errorf("memory grew from %d to %d bytes over %d queries", warm, after, queries)
	}
	s.Close()
	s = nil
	if end := heapInUse(); end > before+(2<<20) {
		t.Errorf("%d bytes are left after Close, %d before", end, before)
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d files are open after Close, %d before", n, files)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines run after Close, %d before", n, goroutines)
	}
}

// TestMemoryShare holds the list and the signatures against the size of the text.
func TestMemoryShare(t *testing.T) {
	dir := filepath.Join(goRoot(t), "src/net")
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	s := New(nil)
	defer s.Close()
	r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "zzqx_first"})
	if err != nil {
		t.Fatal(err)
	}
	s.WaitIndexed()
	m := s.Memory()
	if share := float64(m.List+m.Signatures) / float64(r.Stats.Bytes); share > 0.08 {
		t.Errorf("list %d and signatures %d bytes are %.1f %% of %d bytes of text, want 8 at most", m.List, m.Signatures, 100*share, r.Stats.Bytes)
	}
}

func TestTextsStayWithinTheirBound(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), strings.Repeat("hay\n", 1000))
	}
	const bound = 50 * 4000
	s := New(&Options{CacheBytes: bound, NoIndex: true})
	defer s.Close()
	answer(t, s, Query{Dir: dir, Pattern: "needle"}) // of a small tree, the first keeps nothing
	for i := range 5 {
		answer(t, s, Query{Dir: dir, Pattern: "needle"})
		if m := s.Memory(); m.Texts > bound || m.Texts < bound/2 {
			t.Errorf("query %d: %d bytes of text are kept, the bound is %d", i, m.Texts, bound)
		}
		for j := range 60 { // versions that go make room for others
			writeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.txt", j)), strings.Repeat("hey\n", 1000))
		}
	}
	s.trees.close()
	if m := s.Memory(); m.Texts != 0 {
		t.Errorf("%d bytes of text are kept after closing", m.Texts)
	}
}
