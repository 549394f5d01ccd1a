package realpath

import "golang.org/x/sys/unix"

// linkless reports whether something is at a path that has no links. It is false where that
// cannot be told.
func linkless(path string) bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}
