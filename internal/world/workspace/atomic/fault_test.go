//go:build linux

package atomic

import (
	"io/fs"
	"sync"

	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// faultFS calls before and after around every operation of the real file system, with its number and name. An error from
// before takes the place of the operation.
type faultFS struct {
	disk.FS
	mu     sync.Mutex
	n      int
	before func(n int, op string) error
	after  func(n int, op string)
}

func (f *faultFS) do(op string, run func() error) error {
	f.mu.Lock()
	n := f.n
	f.n++
	f.mu.Unlock()
	if f.before != nil {
		if err := f.before(n, op); err != nil {
			return err
		}
	}
	err := run()
	if f.after != nil {
		f.after(n, op)
	}
	return err
}

func (f *faultFS) OpenDir(path string) (d disk.Dir, err error) {
	err = f.do("opendir", func() error { d, err = f.FS.OpenDir(path); return err })
	return f.dir(d, err)
}

func (f *faultFS) dir(d disk.Dir, err error) (disk.Dir, error) {
	if err != nil {
		return nil, err
	}
	return &faultDir{d, f}, nil
}

type faultDir struct {
	disk.Dir
	f *faultFS
}

func (d *faultDir) Open(name string, flag int, perm fs.FileMode) (file disk.File, err error) {
	err = d.f.do("open", func() error { file, err = d.Dir.Open(name, flag, perm); return err })
	if err != nil {
		return nil, err
	}
	return &faultFile{file, d.f}, nil
}

func (d *faultDir) OpenDir(name string) (out disk.Dir, err error) {
	err = d.f.do("opendir", func() error { out, err = d.Dir.OpenDir(name); return err })
	return d.f.dir(out, err)
}

func (d *faultDir) Lstat(name string) (info disk.Info, err error) {
	err = d.f.do("lstat", func() error { info, err = d.Dir.Lstat(name); return err })
	return info, err
}

func (d *faultDir) Mkdir(name string, perm fs.FileMode) error {
	return d.f.do("mkdir", func() error { return d.Dir.Mkdir(name, perm) })
}

func (d *faultDir) Rename(from, to string) error {
	return d.f.do("rename", func() error { return d.Dir.Rename(from, to) })
}

func (d *faultDir) RenameNew(from, to string) error {
	return d.f.do("rename", func() error { return d.Dir.RenameNew(from, to) })
}

func (d *faultDir) Remove(name string) error {
	return d.f.do("remove", func() error { return d.Dir.Remove(name) })
}

func (d *faultDir) Sync() error { return d.f.do("sync", d.Dir.Sync) }

type faultFile struct {
	disk.File
	f *faultFS
}

// Write writes half, so that there is a moment in the middle.
func (f *faultFile) Write(b []byte) (n int, err error) {
	half := len(b) / 2
	err = f.f.do("write", func() error { n, err = f.File.Write(b[:half]); return err })
	if err != nil {
		return n, err
	}
	m := 0
	err = f.f.do("write", func() error { m, err = f.File.Write(b[half:]); return err })
	return n + m, err
}

func (f *faultFile) WriteAt(b []byte, off int64) (n int, err error) {
	half := len(b) / 2
	err = f.f.do("pwrite", func() error { n, err = f.File.WriteAt(b[:half], off); return err })
	if err != nil {
		return n, err
	}
	m := 0
	err = f.f.do("pwrite", func() error { m, err = f.File.WriteAt(b[half:], off+int64(half)); return err })
	return n + m, err
}

func (f *faultFile) Sync() error { return f.f.do("fsync", f.File.Sync) }

func (f *faultFile) Truncate(n int64) error {
	return f.f.do("truncate", func() error { return f.File.Truncate(n) })
}

func (f *faultFile) Chmod(m fs.FileMode) error {
	return f.f.do("chmod", func() error { return f.File.Chmod(m) })
}

func (f *faultFile) Reserve(n int64) error {
	return f.f.do("fallocate", func() error { return f.File.Reserve(n) })
}

func (f *faultFile) Lock() (ok bool, err error) {
	err = f.f.do("flock", func() error { ok, err = f.File.Lock(); return err })
	return ok, err
}

func (f *faultFile) Stat() (info disk.Info, err error) {
	err = f.f.do("fstat", func() error { info, err = f.File.Stat(); return err })
	return info, err
}

func (f *faultFile) Chown(uid, gid int) error {
	return f.f.do("chown", func() error { return f.File.Chown(uid, gid) })
}

func (f *faultFile) Xattrs() (attrs map[string]string, err error) {
	err = f.f.do("listxattr", func() error { attrs, err = f.File.Xattrs(); return err })
	return attrs, err
}

func (f *faultFile) SetXattr(name, value string) error {
	return f.f.do("setxattr", func() error { return f.File.SetXattr(name, value) })
}

func (f *faultFile) RemoveXattr(name string) error {
	return f.f.do("removexattr", func() error { return f.File.RemoveXattr(name) })
}
