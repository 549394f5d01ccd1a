package session

import (
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
