//go:build unix

package search

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSpecialFilesNeverHang names a FIFO and finds one.
func TestSpecialFilesNeverHang(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Skip(err)
	}
	s := New(nil)
	defer s.Close()
	if _, err := s.Grep(context.Background(), Query{Dir: dir, Pattern: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := s.Grep(context.Background(), Query{Dir: dir, Path: "fifo", Pattern: "x"}); err == nil {
		t.Error("a FIFO was searched")
	}
}
