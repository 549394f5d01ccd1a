package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/world/search/rgtest"
)

func TestLineEndBeforeCarriageReturn(t *testing.T) {
	rg := rgtest.Need(t)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "crlf.txt"), "one\r\nneedle\r\n\r\nxneedle y\r\nlast needle\r\n")
	for _, p := range []string{"needle$", "^needle$", "^$", "y$", `\w+$`} {
		q := Query{Dir: dir, Pattern: p, Mode: Content}
		want := runRg(t, rg, dir, append([]string{"--crlf"}, rgArgs(q)...)...)
		for name, s := range layers(t) {
			if d := cmp.Diff(want, answer(t, s, q)); d != "" {
				t.Errorf("%s, %q (-rg --crlf +ours):\n%s", name, p, d)
			}
		}
	}
}

func TestBinaryFiles(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "early.bin"), "needle\x00")
	writeFile(t, filepath.Join(dir, "late.txt"), "needle\n"+strings.Repeat("filler\n", 20000)+"needle\x00\nneedle\n")
	writeFile(t, filepath.Join(dir, "big.bin"), "\x00"+strings.Repeat("needle\n", 100000))
	for name, s := range layers(t) {
		r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "needle", Mode: Content})
		if err != nil {
			t.Fatal(err)
		}
		want := []Hit{{Path: filepath.Join(dir, "late.txt"), Count: 1, Lines: []Line{{1, "needle", true}}}}
		if d := cmp.Diff(want, r.Hits, cmp.Comparer(func(a, b Hit) bool {
			return a.Path == b.Path && a.Count == b.Count && slices.Equal(a.Lines, b.Lines)
		})); d != "" {
			t.Errorf("%s: what comes before a late NUL counts, nothing else:\n%s", name, d)
		}
		r, err = s.Grep(context.Background(), Query{Dir: dir, Path: "early.bin", Pattern: "needle", Mode: Content})
		if err != nil || len(r.Hits) != 1 || !r.Hits[0].Binary {
			t.Errorf("%s: a binary file that is named: %+v, %v", name, r, err)
		}
	}
}

func TestLongLines(t *testing.T) {
	dir := t.TempDir()
	size := 8 << 20
	if os.Getenv("HAFT_LIMITS") != "" {
		size = 100 << 20
	}
	writeFile(t, filepath.Join(dir, "long.txt"), strings.Repeat("x", size)+" needle "+strings.Repeat("y", size)+"\n")
	s := New(&Options{Stateless: true})
	defer s.Close()
	for _, p := range []string{"needle", `nee\w+ `, `\bneedle\b`} {
		r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: p, Mode: Content})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != 1 || len(r.Hits[0].Lines[0].Text) > 2*maxColumns || !strings.Contains(r.Hits[0].Lines[0].Text, " needle ") {
			t.Errorf("%q: the match is not in the part of the line that is shown", p)
		}
	}
}

func TestTooLargeAndUnreadableFilesAreCounted(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "large.txt"), strings.Repeat("needle\n", 200000))
	writeFile(t, filepath.Join(dir, "small.txt"), "needle\n")
	s := New(&Options{MaxFileSize: 1 << 20, Stateless: true})
	defer s.Close()
	r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Hits) != 1 || r.Stats.TooLarge != 1 {
		t.Errorf("hits %v, stats %+v", r.Hits, r.Stats)
	}
	os.Chmod(filepath.Join(dir, "small.txt"), 0)
	os.Chmod(filepath.Dir(dir), 0o755)
	defer withoutPrivileges(t)()
	if r, err = s.Grep(context.Background(), Query{Dir: dir, Pattern: "needle"}); err != nil || r.Stats.Unreadable != 1 {
		t.Errorf("stats %+v, %v", r.Stats, err)
	}
}

func TestBudgetsGivePartialResults(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), strings.Repeat("needle hay\n", 100))
	}
	for name, s := range layers(t) {
		for part, b := range map[string]Budget{"files": {Files: 50}, "bytes": {Bytes: 30000}, "time": {Time: time.Nanosecond}} {
			r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "needle", Budget: b})
			if err != nil {
				t.Errorf("%s, %s: %v", name, part, err)
				continue
			}
			if r.Partial != part || len(r.Hits) >= 300 {
				t.Errorf("%s, %s: partial %q with %d hits", name, part, r.Partial, len(r.Hits))
			}
		}
	}
}

func TestDeniedFilesAreNeitherSearchedNorNamed(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "secret.txt"), "needle\n")
	writeFile(t, filepath.Join(dir, "open.txt"), "needle\n")
	allow := func(p string) bool { return !strings.Contains(p, "secret") }
	for name, s := range layers(t) {
		q := Query{Dir: dir, Pattern: "needle", Allow: allow}
		if d := cmp.Diff([]string{"./open.txt"}, answer(t, s, q)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		q.Path = filepath.Join(dir, "secret.txt")
		if _, err := s.Grep(context.Background(), q); !errors.Is(err, ErrDenied) {
			t.Errorf("%s: a denied file that is named: %v", name, err)
		}
		g, err := s.Glob(context.Background(), GlobQuery{Dir: dir, Pattern: "*.txt", Allow: allow})
		if err != nil || g.Total != 1 {
			t.Errorf("%s: Glob names %v, %v", name, g, err)
		}
	}
}

// TestCancellation asks for what would take seconds and gives up after a moment.
func TestCancellation(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("some words that almost match but never do quite\n", 500000)
	for i := range 4 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), text)
	}
	for name, s := range layers(t) {
		for _, q := range []Query{
			{Pattern: `\w+ \w+ \w+ \w+ \w+ \w+ \w+ \w+ \w+ \w+ \w+x`},
			{Pattern: `(s.m.|w.r.s).*zzz.*q`, Multiline: true},
			{Pattern: "."},
		} {
			q.Dir, q.Mode = dir, Count
			// The best of a few tries counts: the machine has other work.
			const limit = 50 * time.Millisecond * slowdown
			best := time.Hour
			for try := 0; try < 8 && best > limit; try++ {
				ctx, cancel := context.WithCancel(context.Background())
				stopped := make(chan time.Time, 1)
				time.AfterFunc(20*time.Millisecond, func() { stopped <- time.Now(); cancel() })
				_, err := s.Grep(ctx, q)
				if returned := time.Now(); err == nil {
					best = 0 // it was done before
				} else {
					best = min(best, returned.Sub(<-stopped))
				}
				cancel()
			}
			if best > limit {
				t.Errorf("%s, %q: returned %s after it was cancelled", name, q.Pattern, best)
			}
		}
	}
}

func TestPatternsThatExplodeElsewhere(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.txt"), strings.Repeat("a", 20000)+"\n"+strings.Repeat("ab", 5000)+"\n")
	s := New(&Options{Stateless: true})
	defer s.Close()
	for _, p := range []string{`(a*)*b$`, `(a|aa)+$`, `(.*a){20}b`, `a?{0,200}a{200}`, `(a|b)*a(a|b){14}c`, `[ab]*a[ab]{12}[ab]*$`} {
		began := time.Now()
		if _, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: p, Mode: Count}); err != nil {
			t.Errorf("%q: %v", p, err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%q took %s", p, took)
		}
	}
}

func TestDirectoriesThatVanish(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("d%d/e/f.txt", i)), "needle\n")
	}
	s := New(&Options{IndexFrom: 1})
	defer s.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			os.RemoveAll(filepath.Join(dir, fmt.Sprintf("d%d", i)))
		}
	}()
	for range 20 {
		if _, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "needle"}); err != nil {
			t.Error(err)
		}
	}
	<-done
	if got := answer(t, s, Query{Dir: dir, Pattern: "needle"}); len(got) > 0 {
		t.Errorf("files that are gone: %q", got)
	}
	os.RemoveAll(dir)
	if _, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "needle"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that is gone: %v", err)
	}
}

// TestVeryManyFiles has a tree that is large for its kind: 2,000 files, and with
// HAFT_LIMITS a million, which are more than are kept.
func TestVeryManyFiles(t *testing.T) {
	files := 2000
	if os.Getenv("HAFT_LIMITS") != "" {
		files = 1_000_000
	}
	dir := t.TempDir()
	for i := range files {
		if i%1000 == 0 {
			if err := os.Mkdir(filepath.Join(dir, fmt.Sprint(i/1000)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		text := ""
		if i == files/2 {
			text = "needle\n"
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i/1000), fmt.Sprint(i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, ample := New(nil), Budget{Time: time.Hour}
	defer s.Close()
	for range 2 {
		r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "needle", Budget: ample})
		if err != nil || len(r.Hits) != 1 || r.Stats.Scanned != files || r.Partial != "" {
			t.Fatalf("%d hits in %d files, partial %q, %v", len(r.Hits), r.Stats.Scanned, r.Partial, err)
		}
		g, err := s.Glob(context.Background(), GlobQuery{Dir: dir, Pattern: "*0", Limit: 10, Budget: ample})
		if err != nil || g.Total != files/10 || len(g.Files) != 10 {
			t.Fatalf("%d files of %d, %v", len(g.Files), g.Total, err)
		}
	}
	if kept := s.Memory().List > 0; kept != (files <= maxKept) {
		t.Errorf("a list of %d files is kept: %v", files, kept)
	}
}

// TestQueueOverflow makes more changes than the kernel keeps.
func TestQueueOverflow(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), "hay\n")
	}
	s := New(&Options{IndexFrom: 1})
	defer s.Close()
	answer(t, s, Query{Dir: dir, Pattern: "needle"})
	s.WaitIndexed()
	for i := range 20000 { // the queue holds 16,384, and equal neighbours are merged
		if err := os.Chmod(filepath.Join(dir, fmt.Sprintf("f%d.txt", i%20)), 0o600+fs.FileMode(i%2)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "f3.txt"), "needle\n")
	if d := cmp.Diff([]string{"./f3.txt"}, answer(t, s, Query{Dir: dir, Pattern: "needle"})); d != "" {
		t.Error(d)
	}
}
