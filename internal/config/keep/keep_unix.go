//go:build unix

package keep

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mayWrite asks the kernel, which knows of file systems that are read-only.
func mayWrite(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// private reports whether a folder is the user's, and nobody else may write to it.
func private(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(s.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}
