package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Long paths are told apart by a hash, as Claude Code does it: that of Java's strings,
// whatever its sign.
func TestLongPathsHaveAHash(t *testing.T) {
	for path, want := range map[string]string{
		"/short/path":                  "-short-path",
		"/" + strings.Repeat("a", 199): "-" + strings.Repeat("a", 199),
		"/" + strings.Repeat("a", 220): "-" + strings.Repeat("a", 199) + "-7upm6p", // of -474846865
		"/" + strings.Repeat("d", 220): "-" + strings.Repeat("d", 199) + "-3fyobz", // of a positive one
	} {
		if got := mangle(path); got != want {
			t.Errorf("%.10s… with %d bytes: %s, want %s", path, len(path), got, want)
		}
	}
}

// The file that names a session's owner may be anybody's: a large one is not read.
func TestAnOwnerIsSmall(t *testing.T) {
	dir := t.TempDir()
	for size, want := range map[int]bool{4096: true, 4097: false} {
		text := `{"pid":7}` + strings.Repeat(" ", size-len(`{"pid":7}`))
		if err := os.WriteFile(filepath.Join(dir, "owner"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if o, ok := readOwner(dir); ok != want || ok && o.PID != 7 {
			t.Errorf("%d bytes: %+v, %t", size, o, ok)
		}
	}
}

// Folders whose paths differ in signs only share one with the official tools: what the
// lines of a session say tells whose it is.
func TestFoldersOfOneNameKeepTheirSessionsApart(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st := Open(filepath.Join(base, "store"))
	ids := map[string]string{}
	dirs := []string{"a-b", "a/b", "a_b"}
	for _, dir := range dirs {
		cwd := filepath.Join(base, dir)
		if err := os.MkdirAll(filepath.Join(cwd, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		id := NewUUID()
		lines := ""
		for _, at := range []string{cwd, filepath.Join(cwd, "sub")} { // the last one is of no such name
			lines += `{"type":"user","cwd":"` + at + `","sessionId":"` + id + `","uuid":"` + NewUUID() + `","message":{"role":"user","content":"in ` + dir + `"}}` + "\n"
		}
		if err := os.MkdirAll(st.project(cwd), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(st.project(cwd), id+".jsonl"), []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
		ids[dir] = id
	}
	for _, dir := range dirs {
		cwd := filepath.Join(base, dir)
		if id, err := st.Latest(cwd); err != nil || id != ids[dir] {
			t.Errorf("the latest in %s is %s, %v; want %s", dir, id, err, ids[dir])
		}
		list, err := st.List(&ListOptions{Cwd: cwd, Limit: 1})
		if err != nil || len(list) != 1 || list[0].ID != ids[dir] {
			t.Errorf("in %s: %+v, %v", dir, list, err)
		}
	}
	if err := os.Mkdir(filepath.Join(base, "a.b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if id, err := st.Latest(filepath.Join(base, "a.b")); !errors.Is(err, ErrNotFound) {
		t.Errorf("the latest where none was begun: %s, %v", id, err)
	}
}
