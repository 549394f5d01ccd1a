package search

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// withoutPrivileges makes this goroutine, which alone searches a few files, read with the
// rights of nobody if it has root's, until the function it gives is called.
func withoutPrivileges(t *testing.T) (restore func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	return func() {
		syscall.Setfsuid(0)
		runtime.UnlockOSThread()
	}
}
