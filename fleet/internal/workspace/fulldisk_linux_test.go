package workspace

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// A worker whose disk is full says so, and what to do; the files that are stored are not touched.
func TestTheDiskOfTheMachineIsFull(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	remote := newRemote(t, map[string]string{"a": "a"})
	blobs := blob.Dir(t.TempDir())
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote}, Blobs: blobs})
	write(t, w.Folder(), map[string]string{"large": strings.Repeat("0123456789abcdef", 1<<18)})
	last := store(t, w, "call")
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("no small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	o := Options{Dir: small, Run: "run-1", Spec: w.Spec, Blobs: blobs, Last: last}
	if _, err := Open(t.Context(), &o); err == nil || !DiskFull(err) || !strings.Contains(err.Error(), "the disk of the worker's machine is full: free some space for "+small) {
		t.Errorf("opened with %v", err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	again := open(t, o)
	if got := files(t, again.Folder()); len(got["large"]) != 4<<20+len("false ") {
		t.Errorf("restored %d bytes", len(got["large"]))
	}
}
