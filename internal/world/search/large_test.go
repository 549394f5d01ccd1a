package search

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestALargeFileIsSearchedInPieces compares a searcher that cannot have the file in
// memory with one that can, for texts of many shapes.
func TestALargeFileIsSearchedInPieces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	small, whole := New(&Options{MaxFileSize: 4096}), New(nil)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		var text strings.Builder
		text.WriteString(strings.Repeat("filler of a first line that makes the file large\n", 2700))
		for range 3000 {
			switch r.IntN(12) {
			case 0:
				fmt.Fprintf(&text, "needle %d needle", r.IntN(100))
			case 1:
				text.WriteString(strings.Repeat("x", r.IntN(900)))
			default:
				fmt.Fprintf(&text, "line %d", r.IntN(1000))
			}
			text.WriteString("\n")
		}
		writeFile(t, path, strings.TrimSuffix(text.String(), strings.Repeat("\n", round%2)))
		for _, q := range []Query{
			{Mode: Content}, {Mode: Content, Before: 2}, {Mode: Content, After: 3}, {Mode: Content, Before: 40, After: 1}, {Mode: Content, OnlyMatching: true},
			{Mode: Count}, {Mode: Files}, {Mode: Content, Limit: 7},
		} {
			q.Dir, q.Path, q.Pattern = dir, "log", []string{"needle", `needle \d$`, "absent", "^line 7"}[r.IntN(4)]
			want, err := whole.Grep(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := small.Grep(t.Context(), q)
			if err != nil || got.Stats.TooLarge != 0 {
				t.Fatalf("%+v: %+v, %v", q, got, err)
			}
			if diff := cmp.Diff(want.Hits, got.Hits, cmp.AllowUnexported(Hit{})); diff != "" {
				t.Fatalf("round %d, %+v (-whole +pieces):\n%s", round, q, diff)
			}
		}
	}
}

// TestAHoleTakesNoMemory: a sparse file has no line breaks, but need not be in memory as a whole.
func TestAHoleTakesNoMemory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "image")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 512<<20)); err != nil {
		t.Skip("no sparse files here")
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("needle"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := New(&Options{MaxFileSize: 8 << 20}).Grep(t.Context(), Query{Dir: dir, Path: "image", Pattern: "needle", Mode: Files})
	runtime.ReadMemStats(&after)
	if err != nil || len(r.Hits) != 1 || !r.Hits[0].Binary {
		t.Errorf("%+v, %v", r, err)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 100 {
		t.Errorf("it takes %d MB", got)
	}
}

// TestAFileBeyondTheLimitIsSearched is the real size, of which the disk holds little.
func TestAFileBeyondTheLimitIsSearched(t *testing.T) {
	if os.Getenv("HAFT_NIGHTLY") == "" {
		t.Skip("writes and reads 530 MB: set HAFT_NIGHTLY=1")
	}
	path := filepath.Join(t.TempDir(), "huge.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	line := strings.Repeat("a line of the log that nobody reads\n", 1<<20/36)
	const pieces = 530
	for range pieces {
		if _, err := file.WriteString(line); err != nil {
			t.Skip("no room for 530 MB:", err)
		}
	}
	if _, err := file.WriteString("the needle\n"); err != nil {
		t.Skip(err)
	}
	start := time.Now()
	r, err := New(nil).Grep(t.Context(), Query{Dir: filepath.Dir(path), Path: "huge.log", Pattern: "needle", Mode: Content})
	if err != nil || len(r.Hits) != 1 || r.Hits[0].Lines[0].Number != pieces*(1<<20/36)+1 {
		t.Errorf("found %+v, %v", r, err)
	}
	t.Logf("%v", time.Since(start))
}
