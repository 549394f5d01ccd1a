// Package atomic writes files so that whatever happens, a file has its old content or its new one, whole.
//
// The usual way is a temporary file in the same directory, synced and renamed over the old one, with mode, owner and extended
// attributes carried over. Where a rename would break something (a file with several hard links, an owner or attribute we may
// not set, a directory we may not write, a mount point) the file is overwritten in place, after its old and new content were
// saved in a journal. Either way a journal entry is made first, locked by the living process; Recover finds the entries of the
// dead ones, removes their temporary files and undoes half-done writes.
//
//	w := atomic.New(journal, nil)
//	left, err := w.Recover()                              // at start
//	info, err := w.Write(ctx, atomic.File{Path: real, Data: b, Old: &info})
//
// Trust model: a Writer writes wherever it is told to, with the rights of its process; who may write what is decided before. Its
// journal must be its own, because Recover acts on what it finds there: one that others could write in is refused.
//
// Paths are physical (see package guard); no link is followed, and one that appears is an error. A Writer is safe for
// concurrent use; two writes of one file at the same time are told apart by the file's identity, and the later one fails.
package atomic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/haftdev/haft/internal/workspace/disk"
)

// Writer replaces the content of files.
type Writer struct {
	fs      disk.FS
	journal string
	once    sync.Once
	dir     disk.Dir // the journal, open
	err     error
}

// New makes a Writer. journal is the directory for notes about writes under way; it is made when first needed, and must be
// writable by nobody else. A nil file system means the real one. New touches nothing.
func New(journal string, fsys disk.FS) *Writer {
	if fsys == nil {
		fsys = disk.OS()
	}
	return &Writer{fs: fsys, journal: journal}
}

// Close gives back the open journal. Writes after it fail.
func (w *Writer) Close() error {
	w.once.Do(func() { w.err = fs.ErrClosed })
	if w.dir == nil {
		return nil
	}
	return w.dir.Close()
}

// File is a content to be written.
type File struct {
	Path string // physical
	Data []byte
	// Old is the file as it was when its content was read; the write fails with ErrChanged if it is another by now. Nil means
	// that there must be no file.
	Old *disk.Info
	// Mode is the mode of a new file, before the process's mask. Zero means 0666. An existing file keeps its own.
	Mode fs.FileMode
}

// Write makes the content of f.Path be f.Data and returns the new file's description. When it returns an error the file is
// as it was, unless the error is a *tornError.
func (w *Writer) Write(ctx context.Context, f File) (disk.Info, error) {
	info, err := w.write(ctx, f)
	if err != nil {
		return disk.Info{}, w.explain(f, err)
	}
	return info, nil
}

func (w *Writer) write(ctx context.Context, f File) (disk.Info, error) {
	dir, err := w.parent(filepath.Dir(f.Path), f.Old == nil)
	if err != nil {
		return disk.Info{}, err
	}
	defer dir.Close()
	name := filepath.Base(f.Path)
	if err := unchanged(dir, name, f.Old); err != nil {
		return disk.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return disk.Info{}, err
	}
	if f.Old != nil && f.Old.Links > 1 {
		return w.overwrite(dir, name, f)
	}
	info, err := w.replace(ctx, dir, name, f)
	if f.Old != nil && cannotReplace(err) {
		return w.overwrite(dir, name, f)
	}
	return info, err
}

// cannotReplace reports whether an error means that this file can only be written in place.
func cannotReplace(err error) bool {
	for _, e := range []error{errKeep, syscall.EXDEV, syscall.EBUSY, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// parent opens the directory at path, and makes it if it may.
func (w *Writer) parent(path string, create bool) (disk.Dir, error) {
	dir, err := w.fs.OpenDir(path)
	if err == nil || !create || !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
		return dir, err
	}
	up, err := w.parent(filepath.Dir(path), true)
	if err != nil {
		return nil, err
	}
	defer up.Close()
	name := filepath.Base(path)
	if err := up.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	_ = up.Sync() // as after a rename, see replace
	return up.OpenDir(name)
}

// unchanged compares what is at name with what was there when it was read.
func unchanged(dir disk.Dir, name string, old *disk.Info) error {
	now, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if old != nil {
			return fmt.Errorf("%w: it is gone", ErrChanged)
		}
		return nil
	case err != nil:
		return err
	case now.Mode.IsDir():
		return fmt.Errorf("%w: it is now a directory", ErrChanged)
	case old == nil:
		return fmt.Errorf("%w: it now exists", ErrChanged)
	case !now.Mode.IsRegular():
		return fmt.Errorf("%w: it is no longer a regular file", ErrChanged)
	case !now.Same(*old):
		return ErrChanged
	}
	return nil
}
