//go:build unix

package shellrun

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// enterable reports whether a command can be started in dir.
func enterable(dir string) bool { return isDir(dir) && unix.Access(dir, unix.X_OK) == nil }

const maxPath = 4096

// readDir reads and removes the file in which a command told its last
// directory, if it told any. The command could have put anything there: nothing
// is waited for or followed, and what no shell can be in is "".
func readDir(file string) (dir string, told bool) {
	fd, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", !errors.Is(err, fs.ErrNotExist)
	}
	defer os.Remove(file)
	defer fd.Close()
	info, err := fd.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPath {
		return "", true
	}
	data, err := io.ReadAll(io.LimitReader(fd, maxPath))
	dir = strings.TrimSuffix(string(data), "\n")
	if err != nil || !filepath.IsAbs(dir) || !enterable(dir) {
		return "", true
	}
	return filepath.Clean(dir), true
}
