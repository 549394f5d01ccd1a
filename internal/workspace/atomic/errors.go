package atomic

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/workspace/disk"
)

// ErrChanged says that the file is not the one that was read.
var ErrChanged = errors.New("the file changed while it was being written")

// SpaceError says that there is no room for the new content. The file is as it was.
type SpaceError struct {
	Path  string
	Store string // the directory that is full, if it is one of our own beside the file's
	Need  uint64 // bytes to be written
	Free  uint64 // bytes free for us
	Quota bool   // it is our quota that is used up
	Err   error
}

func (e *SpaceError) Error() string {
	at := ""
	if e.Store != "" {
		at = " of " + e.Store + ", where haft saves contents while it changes files"
	}
	if e.Quota {
		return fmt.Sprintf("the disk quota%s is used up: %s needs %s", at, e.Path, plural.Of(int64(e.Need), "byte"))
	}
	text := fmt.Sprintf("no space left on the device%s: %s needs %s, and %d are free", at, e.Path, plural.Of(int64(e.Need), "byte"), e.Free)
	if e.Need > e.Free {
		text += fmt.Sprintf(", so %d more are needed", e.Need-e.Free)
	}
	return text
}

func (e *SpaceError) Unwrap() error { return e.Err }

// tornError says that a write in place failed half-way and could not be undone. The old content is at Saved, and Recover will
// put it back.
type tornError struct {
	Path, Saved string
	Err         error
}

func (e *tornError) Error() string {
	return fmt.Sprintf("could not write %s, and it may now be damaged: %v; its previous content is saved in %s and will be restored when haft starts again", e.Path, e.Err, e.Saved)
}

func (e *tornError) Unwrap() error { return e.Err }

// journalError says that it was the journal that could not be written.
type journalError struct{ error }

func (e *journalError) Unwrap() error { return e.error }

// reasons words the errors of the kernel that a write can meet.
var reasons = []struct {
	err  error
	text string
}{
	{syscall.EROFS, "the file system is read-only"},
	{syscall.EISDIR, "it is a directory"},
	{syscall.ENOTEMPTY, "it is a directory"},
	{syscall.ENOTDIR, "part of its path is a file, not a directory"},
	{syscall.EMLINK, "its directory already has as many links as the file system allows"},
	{syscall.ENAMETOOLONG, "the name is too long"},
	{syscall.EFBIG, "the file would be larger than the file system allows"},
	{syscall.ETXTBSY, "it is a program that is running"},
	{syscall.EIO, "the device reports an input/output error"},
	{syscall.EXDEV, "the file is on a different file system from its directory"},
	{disk.ErrLink, "a symbolic link has appeared on the path since it was checked"},
	{fs.ErrPermission, "permission denied"},
}

// explain makes an error say what happened to which file.
func (w *Writer) explain(f File, err error) error {
	var torn *tornError
	switch {
	case errors.As(err, &torn):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		var own *journalError
		full := &SpaceError{Path: f.Path, Need: uint64(len(f.Data)), Quota: errors.Is(err, syscall.EDQUOT), Err: err}
		if errors.As(err, &own) {
			full.Store = w.journal
		}
		full.Free, _ = w.fs.Space(existing(w.fs, cmp.Or(full.Store, filepath.Dir(f.Path))))
		return full
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return &writeError{fmt.Sprintf("could not write %s: %s", f.Path, r.text), err}
		}
	}
	return fmt.Errorf("could not write %s: %w", f.Path, err)
}

// writeError words an error of the kernel, which says the same in its own way.
type writeError struct {
	text string
	err  error
}

func (e *writeError) Error() string { return e.text }
func (e *writeError) Unwrap() error { return e.err }

// existing returns the nearest directory above path that is there.
func existing(fsys disk.FS, path string) string {
	for path != filepath.Dir(path) {
		if _, err := fsys.Lstat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}
