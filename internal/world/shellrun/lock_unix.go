//go:build unix

package shellrun

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the lock by which a process shows that it uses a file or a
// directory. It ends with the process, or when the file is closed.
func lock(file *os.File) bool {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
