package session

import (
	"os"
	"syscall"
)

// datasync is fsync without the times of the file, which nobody relies on.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
