//go:build !linux

package checkpoint

import (
	"errors"
	"io/fs"
	"os"
)

func changed(fs.FileInfo) (ctime int64, ino uint64) { return 0, 0 }

// Attrs are kept on Linux only.
func Attrs(string) string { return "" }

func setAttrsOf(*os.File, string) error { return nil }

func setAttrs(*os.Root, string, string) error { return nil }

func makeFIFO(*os.Root, string, fs.FileMode) error { return errors.ErrUnsupported }

func hasOtherNames(*os.Root, string) bool { return false }

func syncAll(string) error { return nil }

func swap(dir *os.Root, a, b string) error {
	if _, err := dir.Lstat(b); err != nil {
		return err
	}
	return errors.ErrUnsupported
}

func moveToFree(dir *os.Root, from, to string) error { return dir.Rename(from, to) }
