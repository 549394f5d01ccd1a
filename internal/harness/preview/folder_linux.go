package preview

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A folder is an open directory. What is in it is reached from there by names without
// slashes, so that no link is followed and no path is resolved again. What a command
// left is our own: rights that are missing there are given for the time of reading.
type folder struct {
	file *os.File
	fd   int
	path string
	own  bool
}

// facts are what the file system says about a file.
type facts struct {
	mode   fs.FileMode
	size   int64
	nlink  uint64
	device uint64
	stamp
}

const openFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

func openFolder(path string, own bool) (folder, error) {
	return openDir(unix.AT_FDCWD, path, path, own)
}

func openDir(at int, name, path string, own bool) (folder, error) {
	fd, err := unix.Openat(at, name, openFlags|unix.O_DIRECTORY, 0)
	if err != nil {
		return folder{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return folder{os.NewFile(uintptr(fd), path), fd, path, own}, nil
}

func (f folder) Close() error { return f.file.Close() }

// sub opens a folder in this one.
func (f folder) sub(name string) (folder, error) {
	path := f.path + "/" + name
	dir, err := openDir(f.fd, name, path, f.own)
	if !f.own || !errors.Is(err, fs.ErrPermission) {
		return dir, err
	}
	again := f.withRights(name, func() { dir, err = openDir(f.fd, name, path, f.own) })
	return dir, errors.Join(again, err)
}

// withRights does something with a file of our own that lacks the right to be read.
func (f folder) withRights(name string, do func()) error {
	st, err := f.stat(name)
	if err != nil || st.mode&fs.ModeSymlink != 0 {
		return err
	}
	if err := unix.Fchmodat(f.fd, name, uint32(st.mode.Perm())|0o500, 0); err != nil {
		return err
	}
	do()
	return unix.Fchmodat(f.fd, name, unixMode(st.mode), 0)
}

// openAny opens a file of any kind but a link, without waiting at a pipe.
func (f folder) openAny(name string) (fd int, err error) {
	fd, err = unix.Openat(f.fd, name, openFlags, 0)
	if f.own && errors.Is(err, unix.EACCES) {
		again := f.withRights(name, func() { fd, err = unix.Openat(f.fd, name, openFlags, 0) })
		err = errors.Join(again, err)
	}
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: f.path + "/" + name, Err: err}
	}
	return fd, nil
}

// openRegular opens a regular file.
func (f folder) openRegular(name string) (fd int, st facts, err error) {
	if fd, err = f.openAny(name); err != nil {
		return -1, st, err
	}
	if st, err = statFile(fd); err == nil && !st.mode.IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// stat describes a file of the folder without following a link.
func (f folder) stat(name string) (facts, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return facts{}, &fs.PathError{Op: "stat", Path: f.path + "/" + name, Err: err}
	}
	return factsOf(&st), nil
}

func statFile(fd int) (facts, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return factsOf(&st), err
}

func (f folder) readlink(name string) (string, error) {
	raw := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(f.fd, name, raw)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: f.path + "/" + name, Err: err}
	}
	return string(raw[:n]), nil
}

// list returns what is in the folder in the order of names. Kinds are hints.
func (f folder) list() ([]fs.DirEntry, error) {
	list, err := f.file.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// attr is the value of an attribute of the folder itself; "" if it has none.
func (f folder) attr(name string) string {
	value := make([]byte, 16)
	n, err := unix.Fgetxattr(f.fd, name, value)
	if err != nil {
		return ""
	}
	return string(value[:n])
}

// below opens the folder that holds a path below this one.
func (f folder) below(rel string) (folder, error) {
	dir, err := openDir(f.fd, ".", f.path, f.own)
	if err != nil {
		return folder{}, err
	}
	parent := filepath.Dir(rel)
	if parent == "." {
		return dir, nil
	}
	for name := range strings.SplitSeq(parent, "/") {
		next, err := dir.sub(name)
		dir.Close()
		if err != nil {
			return folder{}, err
		}
		dir = next
	}
	return dir, nil
}

// readAll reads an open file of which the size is expected to be known.
func readAll(fd int, size, most int64) ([]byte, error) {
	raw := make([]byte, 0, min(size, most)+1)
	for {
		n, err := unix.Read(fd, raw[len(raw):cap(raw)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		}
		raw = raw[:len(raw)+n]
		switch {
		case n == 0, int64(len(raw)) == size && len(raw) < cap(raw):
			return raw, nil
		case int64(len(raw)) > most:
			return nil, fmt.Errorf("it is larger than %d bytes", most)
		case len(raw) == cap(raw):
			raw = slices.Grow(raw, 4096)
		}
	}
}

// A fileReader reads an open file.
type fileReader int

func (f fileReader) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func factsOf(st *unix.Stat_t) facts {
	return facts{
		mode: fileMode(st.Mode), size: st.Size, nlink: uint64(st.Nlink), device: uint64(st.Rdev),
		stamp: stamp{st.Ctim.Nano(), st.Ino},
	}
}

// fileMode is a mode of the system in Go's terms.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// unixMode is the part of a mode that chmod sets.
func unixMode(mode fs.FileMode) uint32 {
	m := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		m |= unix.S_ISUID
	}
	if mode&fs.ModeSetgid != 0 {
		m |= unix.S_ISGID
	}
	if mode&fs.ModeSticky != 0 {
		m |= unix.S_ISVTX
	}
	return m
}
