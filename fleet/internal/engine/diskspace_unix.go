//go:build linux || darwin || freebsd

package engine

import "syscall"

// diskSpace is how large the disk of a folder is, and how much of it is free.
func diskSpace(dir string) (size, free int64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, false
	}
	block := int64(s.Bsize)
	return int64(s.Blocks) * block, int64(s.Bavail) * block, true
}
