//go:build unix

package tui

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAStatusLineEndsWithItsChildren runs commands that start another one: it is killed with the
// command, and also after a command that ends by itself.
func TestAStatusLineEndsWithItsChildren(t *testing.T) {
	for name, c := range map[string]struct {
		command, want string
		stop          bool
	}{
		"a command that is stopped":                {"sleep 300 & echo started >&3; sleep 300", "", true},
		"a command that leaves a silent child":     {"sleep 300 >/dev/null 2>&1 & echo started >&3; echo hi", "hi", false},
		"a command whose child holds its output":   {"sleep 300 & echo started >&3; echo hi", "hi", false},
		"a command that leaves nothing of its own": {"echo started >&3; echo hi", "hi", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pipe, reader := fifo(t, filepath.Join(dir, "alive"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			started := make(chan error, 1)
			go func() {
				_, err := io.ReadFull(reader, make([]byte, len("started\n")))
				if c.stop {
					cancel()
				}
				started <- err
			}()
			line, err := commandLine(ctx, time.Minute, "exec 3>alive; "+c.command, dir, "{}")
			if strings.Join(line, "\n") != c.want || (err != nil) != c.stop {
				t.Errorf("it printed %q, and failed with %v", line, err)
			}
			if err := <-started; err != nil {
				t.Fatal(err)
			}
			pipe.Close()
			if said, err := io.ReadAll(reader); err != nil || len(said) > 0 {
				t.Errorf("a process is left: %q, %v", said, err)
			}
		})
	}
}

// fifo returns both ends of a named pipe. Reading it ends when the returned writer is closed and
// no process has it open.
func fifo(t *testing.T, path string) (writer, reader *os.File) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(path, os.O_RDWR, 0) // so that neither end waits for the other
	if err != nil {
		t.Fatal(err)
	}
	if reader, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	if err := reader.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return writer, reader
}
