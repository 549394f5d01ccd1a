package session

import (
	"io/fs"
	"syscall"
)

// inode returns when a file's inode was last changed, and its number.
func inode(info fs.FileInfo) (ctime int64, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return 0, 0
}
