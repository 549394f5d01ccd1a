//go:build unix

package trust

import (
	"io/fs"
	"syscall"
)

// identity returns the device and inode of a folder.
func identity(info fs.FileInfo) (dev, inode uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(st.Dev), uint64(st.Ino)
}
