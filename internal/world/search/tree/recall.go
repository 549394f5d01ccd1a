package tree

import (
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// A statter tells how a directory and its files are. For more than a few files it pays to
// open the directory and to ask for each by its name alone.
type statter struct {
	open rawfs.File
	is   bool
}

const openFrom = 4

func newStatter(d *Dir, files int) (s statter, err error) {
	if files >= openFrom {
		s.open, err = rawfs.OpenDir(d.Path)
		s.is = err == nil
	}
	return s, err
}

func (s *statter) close() {
	if s.is {
		s.open.Close()
	}
}

func (s *statter) dir(d *Dir) (rawfs.Stat, error) {
	if s.is {
		return s.open.Stat()
	}
	return rawfs.Lstat(trimSlash(d.Path))
}

// file asks for a file, whose name a NUL follows.
func (s *statter) file(path string, name []byte) (rawfs.Stat, error) {
	if s.is {
		return s.open.StatEntry(name)
	}
	return rawfs.Lstat(path)
}
