package pathin_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/haftdev/haft/internal/sys/pathin"
)

func TestContains(t *testing.T) {
	for _, c := range []struct {
		dir, path string
		rest      string
		in        bool
	}{
		{"/a", "/a", "", true},
		{"/a", "/a/", "", true},
		{"/a/", "/a", "", true},
		{"/a", "/a/b", "b", true},
		{"/a", "/a/b/c", "b/c", true},
		{"/a", "/a//b/./c", "b/c", true},
		{"/a/./b/..", "/a/b", "b", true},
		{"/a", "/ab", "", false},
		{"/a", "/ab/c", "", false},
		{"/ab", "/a", "", false},
		{"/a/b", "/a", "", false},
		{"/a", "/a/../b", "", false},
		{"/a", "/a/b/../../a/c", "c", true},
		{"/a", "/a/..", "", false},
		{"/a", "/a/...", "...", true},
		{"/a", "/a/..b", "..b", true},
		{"/", "/", "", true},
		{"/", "/a/b", "a/b", true},
		{"/a", "/", "", false},
		{"/", "a", "", false},
		{".", ".", "", true},
		{".", "a/b", "a/b", true},
		{".", "./a", "a", true},
		{".", "..", "", false},
		{".", "../a", "", false},
		{".", "a/../..", "", false},
		{".", "/a", "", false},
		{"a", "a/b", "b", true},
		{"a", "ab", "", false},
		{"a", "/a", "", false},
		{"..", "../a", "a", true},
		{"..", "../..", "", false},
		{"..", "../../a", "", false},
		{"..", "a", "", false},
		{"", "/a", "", false},
		{"/a", "", "", false},
		{"", "", "", false},
		{"/Proj", "/proj/x", "", runtime.GOOS == "windows"},
		{"/a\n", "/a\n/b", "b", true},
		{"/a b", "/a b/c", "c", true},
	} {
		if runtime.GOOS == "windows" {
			c.dir, c.path = onWindows(c.dir), onWindows(c.path)
		}
		rest, ok := pathin.Below(c.dir, c.path)
		if filepath.ToSlash(rest) != c.rest || ok != c.in || pathin.Contains(c.dir, c.path) != ok {
			t.Errorf("%q in %q: %q %v, want %q %v", c.path, c.dir, rest, ok, c.rest, c.in)
		}
	}
}

// onWindows makes a path that is absolute elsewhere absolute there.
func onWindows(path string) string {
	if strings.HasPrefix(path, "/") {
		return `C:` + filepath.FromSlash(path)
	}
	return path
}

func TestContainsFold(t *testing.T) {
	for _, c := range []struct {
		dir, path string
		rest      string
		in        bool
	}{
		{"a/.SSH", "a/.ssh/id_rsa", "id_rsa", true},
		{"a/k", "a/\u212a/x", "x", true}, // the Kelvin sign, which is longer than the k it folds to
		{"a/\u212a", "a/k", "", true},
		{"a/b", "A/BC", "", false},
		{"a/ß", "a/SS", "", false}, // folded by no file system letter by letter
		{"a", "B", "", false},
	} {
		rest, ok := pathin.BelowFold(c.dir, c.path)
		if rest != c.rest || ok != c.in || pathin.ContainsFold(c.dir, c.path) != ok {
			t.Errorf("%q in %q: %q %v, want %q %v", c.path, c.dir, rest, ok, c.rest, c.in)
		}
	}
}

// FuzzContains holds the answer against that of the standard library, and against
// what must be so whatever the names are.
func FuzzContains(f *testing.F) {
	for _, s := range []string{"/", "/a", "/a/", "/a/../b", "a", ".", "..", "../..", "/a//b", "/..", "/A/b", "a/\u212a"} {
		f.Add("/a", s)
		f.Add(s, "/a/b")
		f.Add(s, "a/b")
	}
	f.Fuzz(func(t *testing.T, dir, path string) {
		if strings.ContainsRune(dir, 0) || strings.ContainsRune(path, 0) {
			return // no path has one
		}
		rest, ok := pathin.Below(dir, path)
		if runtime.GOOS != "windows" && dir != "" && path != "" {
			rel, err := filepath.Rel(dir, path)
			want := err == nil && filepath.IsAbs(dir) == filepath.IsAbs(path) && rel != ".." && !strings.HasPrefix(rel, "../")
			if ok != want {
				t.Fatalf("%q in %q: %v, filepath.Rel says %q, %v", path, dir, ok, rel, err)
			}
		}
		fold := pathin.ContainsFold(dir, path)
		if ok && !fold {
			t.Fatalf("%q is in %q, and is not where case does not matter", path, dir)
		}
		if fold != pathin.ContainsFold(upper(dir), path) {
			t.Fatalf("%q in %q depends on the case", path, dir)
		}
		if !ok {
			return
		}
		if filepath.IsAbs(rest) || filepath.Clean(filepath.Join(dir, rest)) != filepath.Clean(path) && runtime.GOOS != "windows" {
			t.Fatalf("%q and then %q is not %q", dir, rest, path)
		}
		if !pathin.Contains(dir, filepath.Join(path, "x")) {
			t.Fatalf("%q is in %q, and what is below it is not", path, dir)
		}
	})
}

// upper changes the letters whose case is one of exactly two.
func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.SimpleFold(unicode.SimpleFold(r)) == r && unicode.ToUpper(r) < unicode.MaxASCII {
			return unicode.ToUpper(r)
		}
		return r
	}, s)
}
