//go:build unix

package stdio

import (
	"os"
	"runtime"
	"syscall"
)

// writeNow writes a short message to a pipe if there is room for all of it, and reports
// whether it did. It never waits.
func writeNow(f *os.File, data []byte) bool {
	if len(data) > atomicWrite() {
		return false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	written := false
	err = raw.Write(func(fd uintptr) bool {
		n, err := syscall.Write(int(fd), data)
		written = err == nil && n == len(data)
		return true // the queue waits if it must
	})
	return err == nil && written
}

// atomicWrite is PIPE_BUF: a message of up to this length is written as a whole or not at all.
func atomicWrite() int {
	if runtime.GOOS == "linux" {
		return 4096
	}
	return 512
}
