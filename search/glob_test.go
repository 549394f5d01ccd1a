package search

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/search/rgtest"
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
			r, err := s.Glob(context.Background(), GlobQuery{Dir: dir, Pattern: p})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range r.Files {
				got = append(got, strings.Split("./"+strings.TrimPrefix(f, dir+"/"), "\n")...)
			}
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s, %s (-rg +ours):\n%s", name, p, d)
			}
		}
	}
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
		r, err := s.Glob(context.Background(), GlobQuery{Dir: dir, Pattern: "*.txt", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Total != 4 || len(r.Files) != 1 || filepath.Base(r.Files[0]) != "c.txt" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
