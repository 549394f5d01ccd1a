package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// maxLinks is how many links the kernel follows before it gives up.
const maxLinks = 40

// ErrTooManyLinks says that links lead to links without end.
var ErrTooManyLinks = errors.New("too many symbolic links")

// ErrLost says that a ".." follows something that is no directory.
var ErrLost = errors.New("a .. follows something that is not a directory")

// Link is a symbolic link that a path passed.
type Link struct{ From, To string }

// walked is where a path leads.
type walked struct {
	real   string
	links  []Link
	info   disk.Info
	exists bool
	err    error
}

// up takes a "..". After what is missing or no directory the kernel would stop: what is above is found, but not there.
func (w *walked) up(fsys disk.FS) {
	if w.err == nil && !(w.exists && w.info.Mode.IsDir()) {
		w.exists, w.info, w.err = false, disk.Info{}, fmt.Errorf("%w: %s", ErrLost, w.real)
	}
	w.real = filepath.Dir(w.real)
	if w.exists && w.err == nil {
		w.info, w.err = fsys.Lstat(w.real)
	}
}

// enter steps onto next, and returns the components of a link to follow.
func (w *walked) enter(fsys disk.FS, next string) []string {
	info, err := fsys.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.real, w.exists, w.info = next, false, disk.Info{}
		return nil
	case err != nil:
		w.real, w.err, w.exists = next, err, false
		return nil
	case info.Mode&fs.ModeSymlink == 0:
		w.real, w.info = next, info
		return nil
	}
	target, err := fsys.Readlink(next)
	if err == nil && len(w.links) == maxLinks {
		err = fmt.Errorf("%w: %s", ErrTooManyLinks, next)
	}
	if err != nil {
		w.real, w.err, w.exists = next, err, false
		return nil
	}
	if filepath.IsAbs(target) {
		w.links = append(w.links, Link{next, filepath.Clean(target)})
		w.real = string(filepath.Separator)
		w.info, w.err = fsys.Lstat(w.real)
	} else {
		w.links = append(w.links, Link{next, filepath.Join(w.real, target)})
	}
	return components(target)
}

// components splits a path and leaves out what means nothing.
func components(path string) []string {
	var out []string
	for c := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if c != "" && c != "." {
			out = append(out, c)
		}
	}
	return out
}
