package realpath_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/shell/realpath"
)

// Every path has the answer of the standard library.
func TestEvalIsThatOfTheStandardLibrary(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755),
		os.WriteFile(filepath.Join(dir, "a", "file"), nil, 0o600),
		os.Symlink("a", filepath.Join(dir, "link")),
		os.Symlink("file", filepath.Join(dir, "a", "to")),
		os.Symlink("nowhere", filepath.Join(dir, "a", "dangling")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	t.Chdir(dir)
	for _, name := range []string{
		"a/file", "a/b", "link/file", "a/to", "a/dangling", "loop", "missing", "a/missing/x", "a/file/x", "a/../a/file", "link/../a", "a//b/", "a/b/..", ".", "", "a/file/..",
	} {
		for _, path := range []string{name, dir + "/" + name} {
			got, err := realpath.Eval(path)
			want, wantErr := filepath.EvalSymlinks(path)
			if got != want || (err == nil) != (wantErr == nil) || errors.Is(err, fs.ErrNotExist) != errors.Is(wantErr, fs.ErrNotExist) {
				t.Errorf("%q: %q, %v; want %q, %v", path, got, err, want, wantErr)
			}
		}
	}
}
