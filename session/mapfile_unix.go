//go:build unix

package session

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/sys/regular"
)

// mapFile returns the beginning of a file that never changes, without reading it. The
// memory stays mapped until the process ends.
func mapFile(path string, size int64) ([]byte, error) {
	file, err := regular.Open(path)
	if err != nil || size == 0 {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < size {
		return nil, os.ErrInvalid // past its end it could not be read
	}
	return unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}
