package workspace

import (
	"io/fs"
	"syscall"
)

// changeTime is when a file was last changed in any way, which no program can set; 0 if that is
// not known.
func changeTime(info fs.FileInfo) (ctime int64, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return 0, 0
}
