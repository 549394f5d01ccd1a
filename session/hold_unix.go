//go:build unix

package session

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryHold locks a file for every process that inherits it from this one. It reports false
// if another process has locked it.
func tryHold(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unhold ends the lock, even if other processes still have the file.
func unhold(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// share returns the file once more, with the same lock.
func share(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
