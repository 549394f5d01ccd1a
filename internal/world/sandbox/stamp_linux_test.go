package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAStampHoldsOnlyWhileNothingChanges lets a folder settle: right after a change
// another one could have the same time.
func TestAStampHoldsOnlyWhileNothingChanges(t *testing.T) {
	dir := t.TempDir()
	if s := StampOf(dir); s.Holds(dir) {
		t.Error("a folder that was just made is trusted")
	}
	settled := func() Stamp {
		for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
			if s := StampOf(dir); s.Holds(dir) {
				return s
			}
		}
		t.Fatal("the folder does not settle")
		return Stamp{}
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, change := range []func() error{
		func() error { return os.WriteFile(a, nil, 0o600) },
		func() error { return os.Rename(a, b) },
		func() error { return os.Symlink("x", a) },
		func() error { return os.Rename(a, b) },
		func() error { return os.Remove(b) },
		func() error { return os.Chtimes(dir, time.Unix(1, 0), time.Unix(1, 0)) },
	} {
		s := settled()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if s.Holds(dir) {
			t.Error("a change is not seen")
		}
	}
	s := settled()
	if err := os.WriteFile(filepath.Join(t.TempDir(), "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !s.Holds(dir) {
		t.Error("a change elsewhere is seen here")
	}
	missing := StampOf(filepath.Join(dir, "missing"))
	if !missing.Holds(filepath.Join(dir, "missing")) || missing.Holds(dir) {
		t.Error("a folder that is not there")
	}
}
