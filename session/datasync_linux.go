package session

import (
	"os"
	"syscall"
)

// datasync is fsync without the timestamps of the file, which are not needed.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
