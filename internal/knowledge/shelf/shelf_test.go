package shelf_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/haftdev/haft/internal/knowledge/shelf"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	tests := []struct {
		name, bytes string
		most        int64
		want        shelf.File
		err         error
	}{
		{name: "text is read as it is", bytes: "a\nb\n", most: 10, want: shelf.File{Text: "a\nb\n", Size: 4}},
		{name: "marks and line endings of other systems go", bytes: "\ufeffa\r\nb", most: 10, want: shelf.File{Text: "a\nb", Size: 7}},
		{name: "a file of just the size is not cut", bytes: "abc", most: 3, want: shelf.File{Text: "abc", Size: 3}},
		{name: "a longer one is cut between letters", bytes: "aé€", most: 4, want: shelf.File{Text: "aé", Size: 6, Cut: true}},
		{name: "bytes that are no UTF-8 are replaced", bytes: "a\xffb", most: 10, want: shelf.File{Text: "a\ufffdb", Size: 3, Mended: true}},
		{name: "zero bytes are no text", bytes: "a\x00b", most: 10, err: shelf.ErrNotText},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "f"), tt.bytes)
			got, err := shelf.Open(dir).Read("f", tt.most)
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(shelf.File{}, "Modified")); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAConfinedShelfCannotBeLeft(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "secret"), "secret")
	write(t, filepath.Join(base, "in/own"), "own")
	for link, to := range map[string]string{"in/out": "../secret", "in/dir": "..", "in/alias": "own"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Skip(err)
		}
	}
	confined, err := shelf.Confine(filepath.Join(base, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer confined.Close()
	for _, name := range []string{"out", "dir/secret", "../secret"} {
		if f, err := confined.Read(name, 100); err == nil {
			t.Errorf("read %s: got %q, want an error", name, f.Text)
		}
	}
	if f, err := confined.Read("alias", 100); err != nil || f.Text != "own" {
		t.Errorf("read a link that stays inside: %q, %v", f.Text, err)
	}
	if f, err := shelf.Open(filepath.Join(base, "in")).Read("out", 100); err != nil || f.Text != "secret" {
		t.Errorf("read a link of one's own: %q, %v", f.Text, err)
	}
}

func TestWhatIsNotAFileIsSaidToBeNone(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "")
	s := shelf.Open(dir)
	for name, want := range map[string]error{".": shelf.ErrNotRegular, "gone": fs.ErrNotExist, "f/below": fs.ErrNotExist} {
		if _, err := s.Read(name, 10); !errors.Is(err, want) {
			t.Errorf("read %s: %v, want %v", name, err, want)
		}
	}
}

func TestWalk(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"d/b", "d/a/x", "d/a/deep/er/y", "d/.hidden"} {
		write(t, filepath.Join(base, name), name)
	}
	for link, to := range map[string]string{"d/loop": ".", "d/gone": "nowhere", "d/again": "a"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Skip(err)
		}
	}
	s := shelf.Open(base)
	tests := []struct {
		name     string
		dir      string
		bounds   shelf.Bounds
		want     []string
		complete bool
	}{
		{"everything, and links in no circle", "d", shelf.Bounds{Depth: 9, Entries: 100}, []string{"d/.hidden", "d/a/deep/er/y", "d/a/x", "d/again/deep/er/y", "d/again/x", "d/b"}, true},
		{"as deep as said", "d", shelf.Bounds{Depth: 1, Entries: 100}, []string{"d/.hidden", "d/a/x", "d/again/x", "d/b"}, false},
		{"as many as said", "d", shelf.Bounds{Depth: 9, Entries: 2}, nil, false},
		{"a folder that is not there is empty", "none", shelf.Bounds{Depth: 1, Entries: 5}, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, complete := s.Walk(tt.dir, tt.bounds)
			if tt.want == nil && len(got) <= tt.bounds.Entries {
				got = nil // which ones is up to the file system
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || complete != tt.complete {
				t.Errorf("complete %t, names (-want +got):\n%s", complete, diff)
			}
		})
	}
	folders, complete := s.Folders("d", 100)
	if diff := cmp.Diff([]string{"d/a", "d/again", "d/loop"}, folders); diff != "" || !complete {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

func TestSum(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "\x00binary")
	write(t, filepath.Join(dir, "b"), "\x00binary")
	write(t, filepath.Join(dir, "c"), "\x00binarz")
	s := shelf.Open(dir)
	sum := func(name string, most int64) string {
		t.Helper()
		got, _, err := s.Sum(name, most)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if sum("a", 100) != sum("b", 100) || sum("a", 100) == sum("c", 100) {
		t.Error("the hash does not stand for the content")
	}
	if got := sum("a", 3); !strings.HasPrefix(got, "too large: 7 bytes of ") {
		t.Errorf("too large: %q", got)
	}
	if _, _, err := s.Sum(".", 3); !errors.Is(err, shelf.ErrNotRegular) {
		t.Errorf("a folder: %v", err)
	}
}
