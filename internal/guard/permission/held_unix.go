//go:build unix

package permission

import (
	"io/fs"
	"syscall"
)

// namesOf tells which file it is, and how many names it has.
func namesOf(info fs.FileInfo) (id fileID, names uint64, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, 0, false
	}
	return fileID{uint64(stat.Dev), stat.Ino}, uint64(stat.Nlink), true
}
