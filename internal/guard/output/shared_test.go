package output_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/guard/output"
)

// leave writes what a process kept some time ago.
func leave(t *testing.T, root, name string, size int, ago time.Duration) {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "r.txt")
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-ago)
	for _, path := range []string{file, dir} {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResultsOfOthersAreSweptByAgeAndQuota(t *testing.T) {
	const day = 24 * time.Hour
	root := t.TempDir()
	leave(t, root, "ancient", 10, 40*day)
	leave(t, root, "older", 600, 3*day)
	leave(t, root, "newer", 600, 2*day)
	leave(t, root, "large and fresh", 5000, time.Hour)
	leave(t, root, "small and old", 10, 20*day)
	if err := os.WriteFile(filepath.Join(root, "a file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := output.NewShared(root, "own", &output.Quota{Total: 5700})
	left := func() []string {
		entries, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	s.Bound("c1", text("short"), 100)
	if got := left(); len(got) != 6 {
		t.Errorf("something was removed though nothing was kept: %v", got)
	}
	_, kept := s.Bound("c1", text(strings.Repeat("x", 1000)), 100)
	if want := []string{"a file", "large and fresh", "newer", "own"}; !slices.Equal(left(), want) {
		t.Errorf("left: %v, want %v", left(), want)
	}
	if _, err := os.Stat(kept.Path); err != nil {
		t.Error(err)
	}
	// A folder that cannot be looked at is no reason to keep nothing.
	if _, kept := output.NewShared(filepath.Join(root, "a", "new", "root"), "own", nil).Bound("c1", text(strings.Repeat("x", 1000)), 100); kept.Path == "" {
		t.Error("nothing was kept in a new folder")
	}
}
