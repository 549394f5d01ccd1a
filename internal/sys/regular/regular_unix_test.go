//go:build unix

package regular_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/haftdev/haft/internal/sys/regular"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe, file, zero := filepath.Join(dir, "pipe"), filepath.Join(dir, "file"), filepath.Join(dir, "zero")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, zero, dir} {
		if _, err := regular.Read(path, 10); !errors.Is(err, regular.ErrNotRegular) {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if raw, err := regular.Read(file, 4); err != nil || string(raw) != "four" {
		t.Errorf("%q, error %v", raw, err)
	}
	if _, err := regular.Read(file, 3); err == nil {
		t.Error("a file that is too long was read")
	}
	if raw, more, err := regular.Head(file, 3); err != nil || !more || string(raw) != "fou" {
		t.Errorf("%q, more %v, error %v", raw, more, err)
	}
}
