package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// savedTree makes a tree of files with a word of their own, old enough to be vouched for.
func savedTree(t *testing.T, files int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	writeFile(t, filepath.Join(dir, ".git/HEAD"), "")
	writeFile(t, filepath.Join(dir, ".gitignore"), "*.log\nout/\n")
	writeFile(t, filepath.Join(dir, "out/o.txt"), "needle\n")
	writeFile(t, filepath.Join(dir, "d1/x.log"), "needle\n")
	for i := range files {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%7, i)), fmt.Sprintf("hay and a needle_%03d in it\n", i)+strings.Repeat("more hay\n", 50))
	}
	age(t, dir)
	return dir
}

// age waits until everything in a tree is so old that no change can hide in its times.
func age(t *testing.T, dir string) {
	t.Helper()
	if !rawfs.Local(dir) {
		t.Skip("nothing is saved of trees on this file system")
	}
	last := int64(0)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if st, e := rawfs.Lstat(path); e == nil {
			last = max(last, st.Mtime, st.Ctime)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for time.Now().UnixNano()-last <= int64(20*time.Millisecond) {
		time.Sleep(time.Millisecond)
	}
}

// saveOf searches a tree so that it is saved.
func saveOf(t *testing.T, dir string, o *Options) {
	t.Helper()
	s := New(o)
	answer(t, s, Query{Dir: dir, Pattern: "needle"})
	s.WaitIndexed()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheNextProcessUsesWhatWasSaved(t *testing.T) {
	dir := savedTree(t, 300)
	o := &Options{Saved: t.TempDir(), CacheBytes: -1}
	saveOf(t, dir, o)
	first, err := New(nil).Glob(t.Context(), GlobQuery{Dir: dir, Pattern: "**/*.txt"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, text string }{
		{name: "as it was"},
		{"a file is changed", "d1/f1.txt", "another needle_299\n"},
		{"a file is new", "d2/new.txt", "another needle_299\n"},
		{"a rule is new", "d2/.gitignore", "f2.*\n"},
		{"a folder is new", "d2/e/new.txt", "another needle_299\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.file != "" {
				writeFile(t, filepath.Join(dir, c.file), c.text)
			}
			s, plain := New(o), New(&Options{Stateless: true})
			defer s.Close()
			globbed, err := s.Glob(t.Context(), GlobQuery{Dir: dir, Pattern: "**/*.txt"})
			if err != nil {
				t.Fatal(err)
			}
			want, err := plain.Glob(t.Context(), GlobQuery{Dir: dir, Pattern: "**/*.txt"})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, globbed); d != "" {
				t.Errorf("Glob (-stateless +saved):\n%s", d)
			}
			if c.file == "" && !slices.Equal(first.Files, globbed.Files) {
				t.Error("the order is another one")
			}
			q := Query{Dir: dir, Pattern: "needle_299", Mode: Content}
			r, err := s.Grep(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			p, err := plain.Grep(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(p.Hits, r.Hits, cmp.AllowUnexported(Hit{}, Line{})); d != "" {
				t.Errorf("Grep (-stateless +saved):\n%s", d)
			}
			if r.Stats.Bytes*3 > p.Stats.Bytes {
				t.Errorf("%d bytes were read of %d: signatures were not used", r.Stats.Bytes, p.Stats.Bytes)
			}
			if d := cmp.Diff(p.Stats.Tree, r.Stats.Tree); d != "" {
				t.Errorf("passed over (-stateless +saved):\n%s", d)
			}
		})
	}
}

// TestADamagedIndexIsNotUsed changes the file in every way that a disk or another program may.
func TestADamagedIndexIsNotUsed(t *testing.T) {
	dir := savedTree(t, 80)
	o := &Options{Saved: t.TempDir(), IndexFrom: 1, CacheBytes: -1}
	saveOf(t, dir, o)
	path := (&trees{opts: o}).path(dir)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	rounds := 60
	if os.Getenv("HAFT_NIGHTLY") != "" {
		rounds = 5000
	}
	for round := range rounds {
		bad := slices.Clone(raw)
		switch at := r.IntN(len(raw)); round % 4 {
		case 0:
			bad[at] ^= byte(1 + r.IntN(255))
		case 1:
			bad = bad[:at]
		case 2:
			bad = append(bad[:at], bad[min(len(bad), at+1+r.IntN(9)):]...)
		case 3:
			bad[r.IntN(savedHeader)] ^= byte(1 + r.IntN(255))
		}
		if err := replace(path, bad); err != nil {
			t.Fatal(err)
		}
		s := New(o)
		for i := range 3 {
			word := fmt.Sprintf("needle_%03d", (round+27*i)%80)
			if got := answer(t, s, Query{Dir: dir, Pattern: word}); len(got) != 1 {
				t.Fatalf("round %d: %s is found in %q", round, word, got)
			}
		}
		s.WaitIndexed()
		s.Close()
		again := (&New(o).trees).load(dir)
		if again == nil || again.signed < 80 || again.index() == nil {
			t.Fatalf("round %d: it was not made again: %+v", round, again)
		}
	}
}

// TestSearchersShareASavedIndex lets several searchers, as several processes have them, save and
// read the same tree while it changes.
func TestSearchersShareASavedIndex(t *testing.T) {
	dir := savedTree(t, 60)
	o := &Options{Saved: t.TempDir(), IndexFrom: 1, saveAlways: true}
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			mine := filepath.Join(dir, fmt.Sprintf("d%d/mine%d.txt", n, n))
			for round := range 8 {
				word := fmt.Sprintf("own_%d_%d", n, round)
				if err := os.WriteFile(mine, []byte(word+"\n"), 0o600); err != nil {
					t.Error(err)
					return
				}
				s := New(o)
				r, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: word + "$"})
				if err != nil || len(r.Hits) != 1 || r.Hits[0].Path != mine {
					t.Errorf("%s: %v, %v", word, r, err)
				}
				if round%2 == 0 {
					s.WaitIndexed()
				}
				s.Close()
			}
		})
	}
	all.Wait()
	left, _ := filepath.Glob(filepath.Join(o.Saved, "*.new"))
	if len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestSavedIndexesAreBounded(t *testing.T) {
	o := &Options{Saved: t.TempDir(), IndexFrom: 1}
	var sizes []int64
	for n := range 4 {
		saveOf(t, savedTree(t, 30), o)
		m, _ := filepath.Glob(filepath.Join(o.Saved, "*"+savedSuffix))
		total := int64(0)
		for _, path := range m {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		if sizes = append(sizes, total); n == 1 {
			o.SavedBytes = total + 1 // room for two
		}
	}
	if sizes[1] <= sizes[0] || sizes[2] > o.SavedBytes || sizes[3] > o.SavedBytes || sizes[3] == 0 {
		t.Errorf("sizes %d with room for %d", sizes, o.SavedBytes)
	}
	stale := filepath.Join(o.Saved, "1.new")
	writeFile(t, stale, "left by a process that was killed")
	if err := os.Chtimes(stale, time.Time{}, time.Now().Add(-2*staleNew)); err != nil {
		t.Fatal(err)
	}
	if err := bound(o.Saved, o.SavedBytes); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("what a killed process left stays")
	}
}

// TestPrivateFilesAreNotSigned also covers files in encodings that are a guess.
func TestPrivateFilesAreNotSigned(t *testing.T) {
	dir := savedTree(t, 10)
	writeFile(t, filepath.Join(dir, "key.pem"), "needle private\n")
	writeFile(t, filepath.Join(dir, "legacy.txt"), "needle \xe9\n")
	age(t, dir)
	s := New(&Options{
		Saved: t.TempDir(), IndexFrom: 1, Private: func(path string) bool { return strings.HasSuffix(path, ".pem") },
		Decode: func(_ string, raw []byte) (Decoded, bool) { return Decoded{Text: []byte("needle é\n")}, true },
	})
	defer s.Close()
	answer(t, s, Query{Dir: dir, Pattern: "needle"})
	s.WaitIndexed()
	k := s.trees.kept[0]
	for _, f := range k.tree.Files(dir) {
		if name := f.Name(); k.index.index.Known(&f.Slot) == (name == "key.pem" || name == "legacy.txt") && !f.Ignored {
			t.Errorf("%s: signed %v", name, k.index.index.Known(&f.Slot))
		}
	}
}

// TestNothingIsSavedWhereItIsNotWanted covers trees that are too small and a folder that cannot be written to.
func TestNothingIsSavedWhereItIsNotWanted(t *testing.T) {
	dir, saved := savedTree(t, 20), t.TempDir()
	saveOf(t, dir, &Options{Saved: saved})
	saveOf(t, dir, &Options{Saved: saved, Stateless: true, IndexFrom: 1})
	if m, _ := os.ReadDir(saved); len(m) > 0 {
		t.Errorf("%v was saved", m)
	}
	blocked := filepath.Join(saved, "file")
	writeFile(t, blocked, "")
	saveOf(t, dir, &Options{Saved: filepath.Join(blocked, "x"), IndexFrom: 1})
}
