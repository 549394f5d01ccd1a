package needtest

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Socket makes a Unix socket that nobody listens at, which no basic program does. The path may be
// longer than the name of a socket.
func Socket(t testing.TB, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	short := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if err := os.Rename(short, path); err != nil {
		t.Fatal(err)
	}
}
