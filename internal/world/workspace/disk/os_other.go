//go:build !unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// OS returns the real file system, over os.Root: nothing leaves the directory that was opened, though a link inside it is
// followed.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Lstat(path string) (Info, error)            { return infoOf(os.Lstat(path)) }
func (osFS) Readlink(path string) (string, error)       { return os.Readlink(path) }
func (osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (osFS) Space(string) (uint64, error)               { return 0, errors.ErrUnsupported }

func (osFS) OpenDir(path string) (Dir, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil && real != filepath.Clean(path) {
		return nil, &fs.PathError{Op: "open directory", Path: path, Err: ErrLink}
	}
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return osDir{r}, nil
}

type osDir struct{ r *os.Root }

func (d osDir) Open(name string, flag int, perm fs.FileMode) (File, error) {
	if info, err := d.r.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrLink}
	}
	f, err := d.r.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d osDir) OpenDir(name string) (Dir, error) {
	r, err := d.r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return osDir{r}, nil
}

func (d osDir) RenameNew(from, to string) error {
	if _, err := d.r.Lstat(to); err == nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	return d.r.Rename(from, to)
}

func (d osDir) Lstat(name string) (Info, error)           { return infoOf(d.r.Lstat(name)) }
func (d osDir) Mkdir(name string, perm fs.FileMode) error { return d.r.Mkdir(name, perm) }
func (d osDir) Rename(from, to string) error              { return d.r.Rename(from, to) }
func (d osDir) Remove(name string) error                  { return d.r.Remove(name) }
func (d osDir) Sync() error                               { return nil }
func (d osDir) Close() error                              { return d.r.Close() }

type osFile struct{ *os.File }

func (f osFile) Stat() (Info, error)                { return infoOf(f.File.Stat()) }
func (f osFile) Chown(int, int) error               { return nil }
func (f osFile) Reserve(int64) error                { return nil }
func (f osFile) Xattrs() (map[string]string, error) { return nil, nil }
func (f osFile) SetXattr(string, string) error      { return errors.ErrUnsupported }
func (f osFile) RemoveXattr(string) error           { return errors.ErrUnsupported }
func (f osFile) Lock() (bool, error)                { return true, nil }

func infoOf(i fs.FileInfo, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	return Info{Mode: i.Mode(), Size: i.Size(), ModTime: i.ModTime(), Links: 1}, nil
}
