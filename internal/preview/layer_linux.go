package preview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/checkpoint"
)

// A folder is a tree that is read without following links. What a command left is
// our own: rights that are missing there are given for the time of reading.
type folder struct {
	*os.Root
	path string
	own  bool
}

func openFolder(path string, own bool) (folder, error) {
	root, err := os.OpenRoot(path)
	return folder{root, path, own}, err
}

// open opens a file or a folder itself, without waiting at a pipe.
func (f folder) open(name string, flags int) (*os.File, error) {
	file, err := f.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|flags, 0)
	if !f.own || !errors.Is(err, fs.ErrPermission) {
		return file, err
	}
	info, failed := f.Lstat(name)
	if failed != nil || info.Mode()&fs.ModeSymlink != 0 || f.Chmod(name, info.Mode().Perm()|0o500) != nil {
		return nil, err
	}
	defer f.Chmod(name, info.Mode())
	return f.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|flags, 0)
}

func (f folder) openRegular(name string) (*os.File, error) {
	file, err := f.open(name, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, errors.Join(err, errNotRegular)
	}
	return file, nil
}

// A changes is a comparison of a folder with what a command made of it.
type changes struct {
	*reader
	dir     string // the folder
	below   folder
	above   folder // the upper directory, or the copy
	start   moment
	entries []entry
	unsure  []string // changed by others while the command ran
	leftOut []string // sockets and devices
}

// readLayer reads an upper directory.
func readLayer(r *reader, dir, upper string, start moment) (*changes, error) {
	c := &changes{reader: r, dir: dir, start: start}
	var err error
	if c.below, err = openFolder(dir, false); err != nil {
		return nil, err
	}
	defer c.below.Close()
	if c.above, err = openFolder(upper, true); err != nil {
		return nil, err
	}
	defer c.above.Close()
	if err := c.compareDir("."); err != nil {
		return nil, fmt.Errorf("read what changed in %s: %w", dir, err)
	}
	return c, nil
}

// compareDir compares a folder that is in both.
func (c *changes) compareDir(name string) error {
	was, err := c.below.Lstat(name)
	if err != nil {
		return err
	}
	is, err := c.above.Lstat(name)
	if err != nil {
		return err
	}
	before := version{File: checkpoint.File{Mode: was.Mode(), Attrs: checkpoint.Attrs(filepath.Join(c.dir, name))}}
	after := version{File: checkpoint.File{Mode: is.Mode(), Attrs: checkpoint.Attrs(filepath.Join(c.above.path, name))}}
	// The folder on top has no attributes of its own before a command gives it some.
	if name == "." && after.Attrs == "" {
		after.Attrs = before.Attrs
	}
	if err := c.add(entry{path: c.abs(name), before: before, after: after}); err != nil {
		return err
	}
	return c.walk(name, true)
}

func (c *changes) abs(name string) string { return filepath.Join(c.dir, name) }

// walk looks at all that a layer has in a folder. With lower, the folder is one
// below too.
func (c *changes) walk(name string, lower bool) error {
	list, err := listDir(c.above, name)
	if err != nil {
		return err
	}
	var names []string
	for _, info := range list {
		names = append(names, info.Name())
		if err := c.look(join(name, info.Name()), info, lower); err != nil {
			return err
		}
	}
	if !lower || !c.opaque(name) {
		return nil
	}
	was, err := listDir(c.below, name)
	if err != nil {
		return err
	}
	for _, info := range was {
		if !slices.Contains(names, info.Name()) {
			if err := c.gone(join(name, info.Name()), info); err != nil {
				return err
			}
		}
	}
	return nil
}

// look compares one path of a layer with what is below.
func (c *changes) look(name string, is fs.FileInfo, lower bool) error {
	var was fs.FileInfo
	if lower {
		var err error
		if was, err = c.below.Lstat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	switch {
	case isWhiteout(is):
		if was == nil {
			return nil // made and deleted again, or deleted by others too
		}
		return c.gone(name, was)
	case is.IsDir() && was != nil && was.IsDir():
		return c.compareDir(name)
	case was != nil && was.IsDir():
		if err := c.goneBelow(name); err != nil {
			return err
		}
	}
	e := entry{path: c.abs(name), source: source{c.above.path, name}}
	var err error
	if e.before, err = c.past(name, was); err != nil {
		return err
	}
	if is.Mode()&(fs.ModeSocket|fs.ModeDevice) != 0 {
		c.leftOut = append(c.leftOut, e.path)
		return nil
	}
	if e.after, err = c.describe(c.above, name, is); err != nil {
		return err
	}
	if was != nil && was.Mode().IsRegular() {
		e.linked = was.Sys().(*syscall.Stat_t).Nlink > 1
	}
	if err := c.add(e); err != nil || !is.IsDir() {
		return err
	}
	return c.walk(name, false)
}

// past describes what was at a path before the run, as far as that is known.
func (c *changes) past(name string, was fs.FileInfo) (v version, err error) {
	if was == nil {
		return version{}, nil
	}
	if c.start.after(was) && !was.IsDir() {
		c.unsure = append(c.unsure, c.abs(name))
	}
	return c.describe(c.below, name, was)
}

// gone notes that a path was deleted with all below it.
func (c *changes) gone(name string, was fs.FileInfo) error {
	if was.IsDir() {
		if err := c.goneBelow(name); err != nil {
			return err
		}
	}
	before, err := c.past(name, was)
	if err != nil {
		return err
	}
	return c.add(entry{path: c.abs(name), before: before})
}

func (c *changes) goneBelow(name string) error {
	list, err := listDir(c.below, name)
	if err != nil {
		return err
	}
	for _, info := range list {
		if err := c.gone(join(name, info.Name()), info); err != nil {
			return err
		}
	}
	return nil
}

func (c *changes) add(e entry) error {
	if e.same() {
		return nil
	}
	if err := c.count(); err != nil {
		return err
	}
	c.entries = append(c.entries, e)
	return nil
}

// opaque reports whether a folder replaces the one below.
func (c *changes) opaque(name string) bool {
	value := make([]byte, 8)
	n, err := unix.Lgetxattr(filepath.Join(c.above.path, name), "user.overlay.opaque", value)
	return err == nil && string(value[:n]) == "y"
}

func isWhiteout(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// listDir lists a folder in the order of names.
func listDir(f folder, name string) ([]fs.FileInfo, error) {
	dir, err := f.open(name, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	list := make([]fs.FileInfo, 0, len(names))
	for _, n := range names {
		info, err := f.Lstat(join(name, n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}
