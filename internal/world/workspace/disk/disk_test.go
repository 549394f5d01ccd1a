//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// real resolves a temporary directory, which may itself lie behind links.
func real(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpenDirPassesThroughNoLink(t *testing.T) {
	dir := real(t)
	must(t, os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755))
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	d, err := OS().OpenDir(filepath.Join(dir, "real", "sub"))
	must(t, err)
	must(t, d.Close())
	for _, path := range []string{"link", "link/sub"} {
		if _, err := OS().OpenDir(filepath.Join(dir, path)); !errors.Is(err, ErrLink) {
			t.Errorf("%s: error %v, want ErrLink", path, err)
		}
		if _, err := walkDir(filepath.Join(dir, path)); !errors.Is(err, unix.ELOOP) {
			t.Errorf("walk %s: error %v, want ELOOP", path, err)
		}
	}
	fd, err := walkDir(filepath.Join(dir, "real", "sub"))
	must(t, err)
	must(t, unix.Close(fd))
}

func TestDirFollowsNothing(t *testing.T) {
	dir := real(t)
	must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600))
	must(t, os.Symlink("f", filepath.Join(dir, "l")))
	must(t, os.Symlink(".", filepath.Join(dir, "ld")))
	d, err := OS().OpenDir(dir)
	must(t, err)
	defer d.Close()
	if _, err := d.Open("l", os.O_RDONLY, 0); !errors.Is(err, ErrLink) {
		t.Errorf("open a link: %v, want ErrLink", err)
	}
	if _, err := d.OpenDir("ld"); !errors.Is(err, ErrLink) {
		t.Errorf("open a link to a directory: %v, want ErrLink", err)
	}
	for _, name := range []string{"", ".", "..", "../f", "a/b"} {
		if _, err := d.Open(name, os.O_RDONLY, 0); err == nil {
			t.Errorf("open %q: no error", name)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "g"), nil, 0o600))
	if err := d.RenameNew("f", "g"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("rename onto a file: %v, want ErrExist", err)
	}
	must(t, d.RenameNew("f", "h"))
}

func TestLinkNewDoesNotReplace(t *testing.T) {
	dir := real(t)
	must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "b"), nil, 0o600))
	fd, err := walkDir(dir)
	must(t, err)
	defer unix.Close(fd)
	if err := linkNew(fd, "a", "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want ErrExist", err)
	}
	must(t, linkNew(fd, "a", "c"))
}

func TestOpeningAFIFODoesNotWait(t *testing.T) {
	dir := real(t)
	must(t, unix.Mkfifo(filepath.Join(dir, "p"), 0o600))
	d, err := OS().OpenDir(dir)
	must(t, err)
	defer d.Close()
	done := make(chan fs.FileMode, 1)
	go func() {
		f, err := d.Open("p", os.O_RDONLY, 0)
		if err != nil {
			done <- 0
			return
		}
		defer f.Close()
		info, _ := f.Stat()
		done <- info.Mode.Type()
	}()
	select {
	case mode := <-done:
		if mode != fs.ModeNamedPipe {
			t.Errorf("mode %v, want a named pipe", mode)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("opening a FIFO blocks")
	}
}

func TestReadingAnEndlessStreamThatPassesForAFileDoesNotWait(t *testing.T) {
	d, err := OS().OpenDir("/proc")
	must(t, err)
	defer d.Close()
	f, err := d.Open("kmsg", os.O_RDONLY, 0)
	if err != nil {
		t.Skipf("/proc/kmsg cannot be opened here: %v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	if !info.Mode.IsRegular() {
		t.Skip("/proc/kmsg is no regular file here")
	}
	done := make(chan error, 1)
	go func() {
		b := make([]byte, 1<<20)
		for range 1000 {
			if _, err := f.Read(b); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("reading blocks")
	}
}

func TestLockIsHeldByOneOpenFile(t *testing.T) {
	d, err := OS().OpenDir(real(t))
	must(t, err)
	defer d.Close()
	a, err := d.Open("f", os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	b, err := d.Open("f", os.O_RDWR, 0)
	must(t, err)
	defer b.Close()
	if ok, err := a.Lock(); !ok || err != nil {
		t.Fatalf("first lock: %v %v", ok, err)
	}
	if ok, err := b.Lock(); ok || err != nil {
		t.Fatalf("second lock: %v %v, want refused", ok, err)
	}
	must(t, a.Close())
	if ok, err := b.Lock(); !ok || err != nil {
		t.Fatalf("after close: %v %v", ok, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
