package search

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/world/search/rgtest"
)

// TestGlobAgainstRipgrep compares names with rg --files. There a glob brings ignored
// files back; Glob leaves them out, so the tree's rules are set aside for ripgrep's
// answer and the ignored files taken from it.
func TestGlobAgainstRipgrep(t *testing.T) {
	rg := rgtest.Need(t)
	dir := goldenTree(t)
	kept := runRg(t, rg, dir, "--files", "./")
	for _, p := range []string{"*.txt", "**/*.txt", "sub/*", "sub/**", "src/**/*.ts", "*.{ts,tsx}", "[a-c]*.txt", "**/deep/*", ".hidden/*", ".*", "*", "**", "src/a/?.tsx", "no/such/*", "Makefile"} {
		var want []string
		for _, l := range runRg(t, rg, dir, "--files", "--glob", p, "./") {
			if slices.Contains(kept, l) {
				want = append(want, l)
			}
		}
		slices.Sort(want)
		for name, s := range layers(t) {
			if d := cmp.Diff(want, globbed(t, s, dir, p)); d != "" {
				t.Errorf("%s, %s, the first time (-rg +ours):\n%s", name, p, d)
			}
			s.WaitIndexed()
			if d := cmp.Diff(want, globbed(t, s, dir, p)); d != "" {
				t.Errorf("%s, %s, from the list (-rg +ours):\n%s", name, p, d)
			}
		}
	}
}

// globbed gives the names that match, as ripgrep would print them.
func globbed(t *testing.T, s *Searcher, dir, pattern string) []string {
	t.Helper()
	r, err := s.Glob(context.Background(), GlobQuery{Dir: dir, Pattern: pattern})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Files {
		got = append(got, strings.Split("./"+strings.TrimPrefix(f, dir+"/"), "\n")...)
	}
	slices.Sort(got)
	return got
}

func TestGlobCountsBeyondItsLimit(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a", "b", "c", "d"} {
		writeFile(t, filepath.Join(dir, n+".txt"), "")
	}
	if err := exec.Command("touch", "-d", "2030-01-01", filepath.Join(dir, "c.txt")).Run(); err != nil {
		t.Skip(err)
	}
	for name, s := range layers(t) {
		for range 2 { // by a walk, then from the list
			r, err := s.Glob(context.Background(), GlobQuery{Dir: dir, Pattern: "*.txt", Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if r.Total != 4 || len(r.Files) != 1 || filepath.Base(r.Files[0]) != "c.txt" {
				t.Errorf("%s: %+v", name, r)
			}
			s.WaitIndexed()
		}
	}
}

// TestGlobTellsTheSameFromAWalkAndFromTheList includes what it tells of ignored files.
func TestGlobTellsTheSameFromAWalkAndFromTheList(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{".git/config", "a.log", "a.txt", "b.txt", "sub/b.log", "sub/c.txt", "sub/deep/e.txt", "out/d.txt", "other/f.txt"} {
		writeFile(t, filepath.Join(dir, n), "")
	}
	writeFile(t, filepath.Join(dir, ".gitignore"), "*.log\nb.*\nout/\n")
	for _, p := range []string{"*.txt", "*.none", "**/b.*", "sub/*.txt", "sub/deep/**", "su/*", "out/*.txt", "out", "none/x/*", dir + "/sub/*.txt"} {
		s := New(nil)
		defer s.Close()
		var results []*GlobResult
		for range 2 {
			r, err := s.Glob(context.Background(), GlobQuery{Dir: dir, Pattern: p})
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
			s.WaitIndexed()
		}
		if d := cmp.Diff(results[0], results[1]); d != "" {
			t.Errorf("%s (-walk +list):\n%s", p, d)
		}
	}
}

func TestAPreparedSearcherHasItsList(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.txt"), "")
	s := New(nil)
	defer s.Close()
	s.Prepare(dir)
	s.WaitIndexed()
	if m := s.Memory(); m.List == 0 {
		t.Error("nothing is kept")
	}
	writeFile(t, filepath.Join(dir, "b.txt"), "")
	if d := cmp.Diff([]string{"./a.txt", "./b.txt"}, globbed(t, s, dir, "*.txt")); d != "" {
		t.Error(d)
	}
}
