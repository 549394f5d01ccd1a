package rewrite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/rewrite"
)

func open(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func to(text string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(text), nil }
}

// tree returns the files below dir with their text.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAFileIsMadeWithItsFolders(t *testing.T) {
	root, dir := open(t)
	err := rewrite.File(t.Context(), root, "a/b/f", to("x"), &rewrite.Options{Perm: 0o600, DirPerm: 0o700})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"/a/b/f": "x"}, tree(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, want := range map[string]os.FileMode{"a": 0o700, "a/b/f": 0o600} {
		if info, err := root.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestAnErrorChangesNothing(t *testing.T) {
	root, dir := open(t)
	if err := rewrite.File(t.Context(), root, "f", to("x"), nil); err != nil {
		t.Fatal(err)
	}
	oops := errors.New("oops")
	for range 2 { // the lock is free again
		err := rewrite.File(t.Context(), root, "f", func([]byte) ([]byte, error) { return nil, oops }, nil)
		if !errors.Is(err, oops) {
			t.Errorf("error %v, want %v", err, oops)
		}
	}
	if diff := cmp.Diff(map[string]string{"/f": "x"}, tree(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestLeftoversOfAKilledProcessAreSwept(t *testing.T) {
	root, dir := open(t)
	for name, text := range map[string]string{".f.ABC.haft.tmp": "half", ".g.ABC.haft.tmp": "another file's"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := rewrite.File(t.Context(), root, "f", to("x"), nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"/f": "x", "/.g.ABC.haft.tmp": "another file's"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	root, _ := open(t)
	held, release := make(chan bool), make(chan bool)
	done := make(chan error)
	go func() {
		done <- rewrite.File(t.Context(), root, "f", func([]byte) ([]byte, error) {
			close(held)
			<-release
			return []byte("x"), nil
		}, nil)
	}()
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := rewrite.File(ctx, root, "f", to("y"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the end of the context", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoSmallFileIsRefused(t *testing.T) {
	root, dir := open(t)
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, rewrite.MaxSize+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("large", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"folder": "not a regular file", "large": "larger than", "link": "symbolic link", "../f": "escapes"} {
		if err := rewrite.File(t.Context(), root, name, to("x"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
}
