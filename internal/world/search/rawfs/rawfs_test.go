package rawfs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

func TestAgainstPackageOS(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b.txt", "with space", "ünï", "bad\xffname"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2000 { // more than one buffer of entries
		if err := os.WriteFile(filepath.Join(dir, "many"+string(rune('a'+i%26))+string(rune('0'+i/26))), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	d, err := rawfs.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	type entry struct {
		Name  string
		Kind  rawfs.Kind
		Size  int64
		Mtime int64
	}
	var got []entry
	err = d.List(make([]byte, 4096), func(e *rawfs.Entry) {
		st, err := e.Stat()
		if err != nil {
			t.Error(err)
		}
		got = append(got, entry{string(e.Name), e.Kind, st.Size, st.Mtime})
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []entry
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		kind := rawfs.Regular
		switch {
		case fi.IsDir():
			kind = rawfs.Directory
		case fi.Mode()&fs.ModeSymlink != 0:
			kind = rawfs.Symlink
		}
		want = append(want, entry{e.Name(), kind, fi.Size(), fi.ModTime().UnixNano()})
	}
	byName := func(a, b entry) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-os +rawfs:\n%s", d)
	}
}

func TestOpenFollowsOnlyWhenAsked(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	path := []byte(filepath.Join(dir, "link") + "\x00")
	if f, err := rawfs.Open(path, false); err == nil {
		f.Close()
		t.Error("a link was followed")
	}
	f, err := rawfs.Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 10)
	if n, err := f.Read(buf); err != nil || string(buf[:n]) != "text" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	if n, err := f.Read(buf); n != 0 || err != nil {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if _, err := rawfs.Open([]byte("/no NUL"), false); err == nil {
		t.Error("a path without its end was opened")
	}
}
