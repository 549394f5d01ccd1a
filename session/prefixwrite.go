package session

import (
	"os"
	"runtime"
	"time"
)

const (
	// prefixStep is how much a journal must grow before its prefix is extended.
	prefixStep = 512 << 10
	// prefixMost is how much is read for that at once when a session is closed.
	prefixMost = 128 << 20
	// prefixQuiet is how long files must not have been written before their timestamps
	// prove that they are unchanged: clocks of file systems are coarse.
	prefixQuiet = 20 * time.Millisecond
)

func writeAt(path string, at int64, b []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(at); err != nil { // what an interrupted write left
		return err
	}
	if _, err := file.WriteAt(b, at); err != nil {
		return err
	}
	return file.Sync()
}

// seals reports whether timestamps and inode numbers prove here that files are unchanged.
func seals() bool { return runtime.GOOS == "linux" }
