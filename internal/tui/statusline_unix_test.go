//go:build unix

package tui

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestAStatusLineEndsWithItsChildren stops a command that has started another one. Both hold
// a pipe open, which ends when neither of them is there.
func TestAStatusLineEndsWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "alive")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0) // so that neither end waits for the other
	if err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if _, err := io.ReadFull(reader, make([]byte, len("started\n"))); err != nil {
			t.Error(err)
		}
	}()
	if _, err := commandLine(ctx, time.Minute, "exec 3>alive; sleep 300 & echo started >&3; sleep 300", dir, "{}"); err == nil {
		t.Error("it ended by itself")
	}
	pipe.Close()
	if said, err := io.ReadAll(reader); err != nil || len(said) > 0 {
		t.Errorf("a process is left: %q, %v", said, err)
	}
}
