package preview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// copyPrefix begins the names of folders that hold copies.
const copyPrefix = "haft-copy-"

// runCopied runs the command in a copy of the folders, where everything is as on a
// plain disk.
func runCopied(ctx context.Context, r Request, why string) (*Result, error) {
	base, err := os.MkdirTemp(r.Store, copyPrefix)
	if err != nil {
		return nil, fmt.Errorf("preview: %w", err)
	}
	lock, ok := lockDir(base)
	if !ok {
		return nil, errors.Join(errors.New("preview: the folder for a copy could not be locked"), os.Remove(base))
	}
	result := &Result{request: r, dirs: r.Dirs, Copied: why, cleanup: []func() error{func() error { return removeCopy(base) }, lock.Close}}
	var layers []sandbox.Layer
	where := []string{base}
	if r.Home != "" {
		home, err := sandbox.NewLayers(r.Store, r.Home)
		if err != nil {
			return nil, errors.Join(err, result.Drop())
		}
		result.cleanup = append(result.cleanup, home.Remove)
		layers, where = home.List, append(where, home.Stores()...)
	}
	start := thisMoment()
	var copies []*copied
	budget := &budget{files: r.MaxCopyFiles, bytes: r.MaxCopyBytes}
	for i, dir := range r.Dirs {
		c, err := newCopied(ctx, dir, filepath.Join(base, strconv.Itoa(i)), budget)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("a preview needs a copy of %s, because %s: %w", dir, why, err), result.Drop())
		}
		copies = append(copies, c)
		layers = append(layers, sandbox.Layer{Dir: dir, Upper: c.path})
	}
	if err := result.run(ctx, r.spec(layers), where...); err != nil {
		return nil, errors.Join(err, result.Drop())
	}
	if result.broken != nil {
		return result, result.broken
	}
	read := &reader{limits: r.Limits}
	for _, c := range copies {
		found, err := c.compare(read, start)
		if err != nil {
			result.broken = err
			return result, err
		}
		result.take(found)
	}
	if r.Home != "" {
		result.outside(layers[0])
	}
	return result, result.settle(start)
}

func removeCopy(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) // commands leave folders without rights
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// A budget is how much may still be copied.
type budget struct {
	files int
	bytes int64
}

func (b *budget) take(size int64) error {
	b.files--
	b.bytes -= size
	if b.files < 0 || b.bytes < 0 {
		return errors.New("the folder is too large to copy")
	}
	return nil
}

// A copied is a copy of a folder, with what was copied.
type copied struct {
	dir    string
	path   string // of the copy
	to     *os.Root
	list   map[string]stamp // as the copy was before the command
	modes  []dirMode
	linked map[uint64]string // names of copied files that have several
	budget *budget
}

type dirMode struct {
	name string
	mode fs.FileMode
	time unix.Timespec
}

func newCopied(ctx context.Context, dir, to string, b *budget) (*copied, error) {
	if err := os.Mkdir(to, 0o700); err != nil {
		return nil, err
	}
	from, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	c := &copied{dir: dir, path: to, to: target, list: map[string]stamp{}, linked: map[uint64]string{}, budget: b}
	if err := c.copyDir(ctx, from, "."); err != nil {
		return nil, err
	}
	for _, d := range slices.Backward(c.modes) {
		if err := target.Chmod(d.name, d.mode); err != nil {
			return nil, err
		}
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(to, d.name), []unix.Timespec{d.time, d.time}, unix.AT_SYMLINK_NOFOLLOW)
	}
	return c, c.remember()
}

func (c *copied) copyDir(ctx context.Context, from *os.Root, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	c.modes = append(c.modes, dirMode{name, info.Mode(), unix.Timespec{Sec: st.Mtim.Sec, Nsec: st.Mtim.Nsec}})
	list, err := listDir(from, name)
	if err != nil {
		return err
	}
	for _, info := range list {
		if err := c.copyOne(ctx, from, join(name, info.Name()), info); err != nil {
			return err
		}
	}
	return nil
}

func (c *copied) copyOne(ctx context.Context, from *os.Root, name string, info fs.FileInfo) error {
	if err := c.budget.take(info.Size()); err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	switch {
	case info.IsDir():
		if err := c.to.Mkdir(name, 0o700); err != nil {
			return err
		}
		return c.copyDir(ctx, from, name)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return c.to.Symlink(target, name)
	case info.Mode()&fs.ModeNamedPipe != 0:
		return unix.Mkfifo(filepath.Join(c.path, name), uint32(info.Mode().Perm()))
	case !info.Mode().IsRegular():
		return nil
	case st.Nlink > 1 && c.linked[st.Ino] != "":
		return c.to.Link(c.linked[st.Ino], name)
	case st.Nlink > 1:
		c.linked[st.Ino] = name
	}
	return c.copyFile(from, name, info)
}

// openIn opens a regular file itself, without waiting at a pipe.
func openIn(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, errors.Join(err, errNotRegular)
	}
	return file, nil
}

// listDir lists a folder in the order of names.
func listDir(root *os.Root, name string) ([]fs.FileInfo, error) {
	dir, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
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
		info, err := root.Lstat(join(name, n))
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

// copyFile shares the content where the file system can.
func (c *copied) copyFile(from *os.Root, name string, info fs.FileInfo) error {
	source, err := openIn(from, name)
	if errors.Is(err, fs.ErrPermission) {
		return nil // the command could not read it either
	}
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := c.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if unix.IoctlFileClone(int(target.Fd()), int(source.Fd())) != nil {
		_, err = io.Copy(target, source)
	}
	st := info.Sys().(*syscall.Stat_t)
	err = errors.Join(err, copyAttrs(source, target), target.Chmod(info.Mode()), target.Close())
	times := []unix.Timespec{{Sec: st.Atim.Sec, Nsec: st.Atim.Nsec}, {Sec: st.Mtim.Sec, Nsec: st.Mtim.Nsec}}
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(c.path, name), times, unix.AT_SYMLINK_NOFOLLOW)
	return err
}

// remember notes how the copy is.
func (c *copied) remember() error {
	return filepath.WalkDir(c.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.path, path)
		c.list[rel] = stampOf(info)
		return err
	})
}

// compare finds what the command changed in the copy.
func (c *copied) compare(r *reader, start moment) (*changes, error) {
	below, err := openFolder(c.dir, false)
	if err != nil {
		return nil, err
	}
	defer below.Close()
	above, err := openFolder(c.path, true)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	d := &changes{reader: r, dir: c.dir, upper: c.path, start: start}
	seen := map[string]bool{}
	err = c.compareDir(d, below, above, ".", seen)
	for _, name := range slices.Sorted(maps.Keys(c.list)) {
		if err == nil && !seen[name] {
			err = c.deleted(d, below, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read what changed in %s: %w", c.dir, err)
	}
	return d, nil
}

// deleted notes a path that is not in the copy any more. What is below it is a path of
// its own.
func (c *copied) deleted(d *changes, below folder, rel string) error {
	dir, err := below.below(rel)
	if err != nil {
		return nil // deleted by others too
	}
	defer dir.Close()
	was, err := d.openPast(dir, filepath.Base(rel), rel)
	if err != nil || !was.exists {
		return err
	}
	defer was.close()
	before, err := d.asItWas(dir, filepath.Base(rel), was)
	if err != nil {
		return err
	}
	return d.add(entry{path: d.abs(rel), before: before})
}

func (c *copied) compareDir(d *changes, top, above folder, rel string, seen map[string]bool) error {
	if d.depth++; d.depth > maxDepth {
		return &LimitError{fmt.Sprintf("folders nested deeper than %d", maxDepth)}
	}
	defer func() { d.depth-- }()
	st, err := statFile(above.fd)
	if err != nil {
		return err
	}
	after, err := describeDir(above)
	if err != nil {
		return err
	}
	if err := c.compareOne(d, top, rel, st, after, seen); err != nil {
		return err
	}
	list, err := above.list()
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := c.compareEntry(d, top, above, rel, e, seen); err != nil {
			return err
		}
	}
	return nil
}

func (c *copied) compareEntry(d *changes, top, above folder, dir string, e fs.DirEntry, seen map[string]bool) error {
	rel := join(dir, e.Name())
	if e.IsDir() {
		sub, err := above.sub(e.Name())
		if err != nil {
			return err
		}
		defer sub.Close()
		return c.compareDir(d, top, sub, rel, seen)
	}
	st, err := above.stat(e.Name())
	if err != nil {
		return err
	}
	seen[rel] = true
	if old, known := c.list[rel]; known && old == st.stamp {
		return nil
	}
	if st.mode&(fs.ModeSocket|fs.ModeDevice) != 0 {
		d.leftOut = append(d.leftOut, d.abs(rel))
		return nil
	}
	after, err := d.describe(above, e.Name(), st)
	if err != nil {
		return err
	}
	return c.compareOne(d, top, rel, st, after, seen)
}

// compareOne compares a path of the copy with what was there.
func (c *copied) compareOne(d *changes, top folder, rel string, st facts, after version, seen map[string]bool) error {
	old, known := c.list[rel]
	seen[rel] = true
	if known && old == st.stamp {
		return nil
	}
	e := entry{path: d.abs(rel), source: source{c.path, rel}, after: after}
	if rel == "." {
		before, err := describeDir(top)
		if err != nil {
			return err
		}
		e.before = before
		return d.add(e)
	}
	if !known {
		return d.add(e)
	}
	dir, err := top.below(rel)
	if err != nil {
		return d.add(e) // deleted by others
	}
	defer dir.Close()
	was, err := d.openPast(dir, filepath.Base(rel), rel)
	if err != nil {
		return err
	}
	defer was.close()
	if e.before, err = d.asItWas(dir, filepath.Base(rel), was); err != nil {
		return err
	}
	e.inPlace = was.exists && was.mode.IsRegular() && was.nlink > 1 && old.ino == st.ino
	return d.add(e)
}

// copyAttrs gives a copy the attributes that users gave the file.
func copyAttrs(from, to *os.File) error {
	names := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(from.Fd()), names)
	if err != nil {
		return nil // a file system without
	}
	for _, name := range splitNames(names[:n]) {
		value := make([]byte, 64<<10)
		n, err := unix.Fgetxattr(int(from.Fd()), name, value)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func splitNames(raw []byte) []string {
	var names []string
	start := 0
	for i, b := range raw {
		if b == 0 {
			if name := string(raw[start:i]); len(name) > 5 && name[:5] == "user." {
				names = append(names, name)
			}
			start = i + 1
		}
	}
	return names
}
