//go:build unix

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// OS returns the real file system.
func OS() FS { return &osFS{} }

type osFS struct{ opener }

func (*osFS) Lstat(path string) (Info, error) {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Lstat(path, &st) }); err != nil {
		return Info{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return infoOf(&st), nil
}

func (*osFS) Readlink(path string) (string, error)       { return os.Readlink(path) }
func (*osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

func (f *osFS) OpenDir(path string) (Dir, error) {
	fd, err := f.openDir(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open directory", Path: path, Err: linkError(err)}
	}
	return &osDir{f: os.NewFile(uintptr(fd), path)}, nil
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW

// walkDir opens a directory one component at a time, following nothing.
func walkDir(path string) (int, error) {
	fd, err := unix.Open("/", dirFlags, 0)
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		next, err := unix.Openat(fd, name, dirFlags, 0)
		if errors.Is(err, unix.ENOTDIR) && isLink(fd, name) {
			err = unix.ELOOP
		}
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

func isLink(fd int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// linkError names the error the kernel gives for a link that must not be followed.
func linkError(err error) error {
	if errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%w: %w", ErrLink, err)
	}
	return err
}

type osDir struct{ f *os.File }

func (d *osDir) fd() int                 { return int(d.f.Fd()) }
func (d *osDir) path(name string) string { return filepath.Join(d.f.Name(), name) }
func (d *osDir) Sync() error             { return d.f.Sync() }
func (d *osDir) Close() error            { return d.f.Close() }
func (d *osDir) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: d.path(name), Err: linkError(err)}
}

func (d *osDir) Open(name string, flag int, perm fs.FileMode) (File, error) {
	if err := component(name); err != nil {
		return nil, d.fail("open", name, err)
	}
	fd, err := openat(d.fd(), name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, uint32(perm.Perm()))
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return &osFile{os.NewFile(uintptr(fd), d.path(name)), fd}, nil
}

func (d *osDir) OpenDir(name string) (Dir, error) {
	if err := component(name); err != nil {
		return nil, d.fail("open directory", name, err)
	}
	fd, err := openat(d.fd(), name, dirFlags, 0)
	if err != nil {
		if errors.Is(err, unix.ENOTDIR) && isLink(d.fd(), name) {
			err = unix.ELOOP
		}
		return nil, d.fail("open directory", name, err)
	}
	return &osDir{f: os.NewFile(uintptr(fd), d.path(name))}, nil
}

func (d *osDir) Lstat(name string) (Info, error) {
	var st unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return Info{}, d.fail("lstat", name, err)
	}
	return infoOf(&st), nil
}

func (d *osDir) Mkdir(name string, perm fs.FileMode) error {
	return d.fail("mkdir", name, unix.Mkdirat(d.fd(), name, uint32(perm.Perm())))
}

func (d *osDir) Rename(from, to string) error {
	return d.fail("rename", to, unix.Renameat(d.fd(), from, d.fd(), to))
}

func (d *osDir) RenameNew(from, to string) error {
	return d.fail("rename", to, renameNew(d.fd(), from, to))
}

func (d *osDir) Remove(name string) error {
	return d.fail("remove", name, unix.Unlinkat(d.fd(), name, 0))
}

// linkNew is RenameNew for file systems that cannot rename without replacing.
func linkNew(fd int, from, to string) error {
	if err := unix.Linkat(fd, from, fd, to, 0); err != nil {
		return err
	}
	return unix.Unlinkat(fd, from, 0)
}

// component refuses names that could leave the directory.
func component(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is not a file name", name)
	}
	return nil
}

func openat(fd int, name string, flag int, perm uint32) (int, error) {
	for {
		got, err := unix.Openat(fd, name, flag, perm)
		if err != unix.EINTR {
			return got, err
		}
	}
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
