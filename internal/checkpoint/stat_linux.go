package checkpoint

import (
	"io/fs"
	"syscall"
)

// changed returns when a file's inode was last changed, and its number.
func changed(info fs.FileInfo) (ctime int64, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return 0, 0
}
