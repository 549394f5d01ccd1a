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
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/haftdev/haft/internal/world/workspace/disk"
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

// overwrite changes the bytes of the file itself. Both contents are safe in the journal before the first byte changes.
func (w *Writer) overwrite(dir disk.Dir, name string, f File) (disk.Info, error) {
	file, err := dir.Open(name, os.O_RDWR, 0)
	if err != nil {
		return disk.Info{}, err
	}
	defer file.Close()
	old, err := readAll(file, f.Old.Size)
	if err != nil {
		return disk.Info{}, err
	}
	info, err := file.Stat()
	if err == nil && !info.Same(*f.Old) {
		err = ErrChanged
	}
	if err != nil {
		return disk.Info{}, err
	}
	if err := file.Reserve(int64(len(f.Data))); err != nil {
		return disk.Info{}, err
	}
	e, err := w.prepare(f, old)
	if err != nil {
		return disk.Info{}, &journalError{err}
	}
	if err := still(file, old); err != nil {
		e.end()
		e.forget()
		return disk.Info{}, err
	}
	if err := put(file, f.Data, len(old)); err != nil {
		if undo := put(file, old, max(len(f.Data), len(old))); undo != nil {
			_ = e.file.Close() // unlocked, so that any recovery can settle it
			return disk.Info{}, &tornError{Path: f.Path, Saved: filepath.Join(w.journal, e.id+oldSuffix), Err: fmt.Errorf("%w, then %w", err, undo)}
		}
		e.end()
		e.forget()
		return disk.Info{}, err
	}
	e.end()
	e.forget()
	now, err := file.Stat()
	if err != nil { // it is written all the same
		now = *f.Old
		now.Size = int64(len(f.Data))
	}
	return now, nil
}

// still refuses a file that someone wrote to while the journal was filled. It compares contents: reserving space may have
// changed the time.
func still(file disk.File, old []byte) error {
	now, err := readAll(file, int64(len(old)))
	if err == nil && !bytes.Equal(now, old) {
		err = ErrChanged
	}
	return err
}

// prepare fills the journal for a write in place. The record comes last and makes the rest count.
func (w *Writer) prepare(f File, old []byte) (*entry, error) {
	e, err := w.open()
	if err != nil {
		return nil, err
	}
	steps := []func() error{
		func() error { return e.save(oldSuffix, old) },
		func() error { return e.save(newSuffix, f.Data) },
		func() error { return w.dir.Sync() },
		func() error {
			return e.write(record{Kind: kindInPlace, Dir: filepath.Dir(f.Path), Name: filepath.Base(f.Path),
				Dev: f.Old.Dev, Ino: f.Old.Ino, OldHash: hash(old), NewHash: hash(f.Data)})
		},
		e.file.Sync,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			e.end()
			e.forget()
			return nil, err
		}
	}
	return e, nil
}

// openJournal makes and opens the journal directory, once.
func (w *Writer) openJournal() (disk.Dir, error) {
	w.once.Do(func() {
		if w.err = os.MkdirAll(w.journal, 0o700); w.err != nil {
			return
		}
		var real string
		if real, w.err = filepath.EvalSymlinks(w.journal); w.err != nil {
			return
		}
		if w.err = w.private(real); w.err == nil {
			w.dir, w.err = w.fs.OpenDir(real)
		}
	})
	if w.err != nil {
		return nil, fmt.Errorf("open the write journal: %w", w.err)
	}
	return w.dir, nil
}

// private refuses a journal that others could write in: recovery acts on what it finds there.
func (w *Writer) private(dir string) error {
	info, err := w.fs.Lstat(dir)
	if err == nil && !ours(info, 0o022) {
		err = fmt.Errorf("other users can write to %s (owner %d, mode %v): make it your own, with mode 700, or delete it", dir, info.UID, info.Mode.Perm())
	}
	return err
}

func (w *Writer) open() (*entry, error) {
	dir, err := w.openJournal()
	if err != nil {
		return nil, err
	}
	for {
		e := &entry{w: w, id: id()}
		if e.file, err = dir.Open(e.id+recordSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return nil, err
		}
		ok, err := e.lock()
		if err != nil {
			e.end()
			return nil, err
		}
		if ok {
			return e, nil
		}
		e.file.Close()
	}
}

// Recover settles the writes of processes that died. Living ones are left alone. What it cannot settle it reports and keeps.
// Where nothing was ever written it makes nothing.
func (w *Writer) Recover() ([]Leftover, error) {
	if _, err := w.fs.Lstat(w.journal); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	dir, err := w.openJournal()
	if err != nil {
		return nil, err
	}
	entries, err := w.fs.ReadDir(w.journal)
	if err != nil {
		return nil, fmt.Errorf("read the write journal: %w", err)
	}
	var out []Leftover
	var problems []error
	for _, e := range entries {
		id, isRecord := strings.CutSuffix(e.Name(), recordSuffix)
		if !isRecord {
			continue
		}
		left, err := w.settle(dir, id)
		if err != nil {
			problems = append(problems, fmt.Errorf("recover %s: %w", id, err))
		}
		if left != nil {
			out = append(out, *left)
		}
	}
	w.dropOrphans(dir)
	return out, errors.Join(problems...)
}

// settle deals with one record, if its writer is dead.
func (w *Writer) settle(journal disk.Dir, id string) (*Leftover, error) {
	f, err := journal.Open(id+recordSuffix, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := checkMade(f, id+recordSuffix); err != nil {
		f.Close()
		return nil, err
	}
	e := &entry{w: w, id: id, file: f}
	if ok, err := f.Lock(); err != nil || !ok {
		f.Close()
		return nil, err
	}
	b, err := readAll(f, 0)
	if err != nil {
		f.Close()
		return nil, err
	}
	var r record
	if json.Unmarshal(b, &r) != nil { // not finished: nothing had begun
		e.end()
		e.forget()
		return nil, nil
	}
	if r.Kind == kindReplace {
		return e.dropTemp(r)
	}
	return e.undo(r)
}

// dropOrphans removes saved contents whose record is gone: their write was finished.
func (w *Writer) dropOrphans(journal disk.Dir) {
	entries, err := w.fs.ReadDir(w.journal)
	if err != nil {
		return
	}
	for _, e := range entries {
		id, ext := strings.CutSuffix(e.Name(), oldSuffix)
		if !ext {
			if id, ext = strings.CutSuffix(e.Name(), newSuffix); !ext {
				continue
			}
		}
		_, errRecord := journal.Lstat(id + recordSuffix)
		_, errKept := journal.Lstat(id + keptSuffix)
		if errors.Is(errRecord, fs.ErrNotExist) && errors.Is(errKept, fs.ErrNotExist) {
			_ = journal.Remove(e.Name())
		}
	}
}

// errKeep says that a new file could not be given what the old one has.
var errKeep = errors.New("cannot preserve the file's owner or attributes")

// replace writes a temporary file beside the target and renames it.
func (w *Writer) replace(ctx context.Context, dir disk.Dir, name string, f File) (disk.Info, error) {
	temp := tempPrefix + id()
	e, err := w.begin(record{Kind: kindReplace, Dir: filepath.Dir(f.Path), Name: name, Temp: temp})
	if err != nil {
		return disk.Info{}, &journalError{err}
	}
	defer e.end()
	info, err := w.fill(dir, name, temp, f)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = swap(dir, name, temp, f.Old)
	}
	if err != nil {
		_ = dir.Remove(temp)
		return disk.Info{}, err
	}
	_ = dir.Sync() // if it fails, a power cut may bring the old content back, whole
	return info, nil
}

// begin makes a record and locks it. It is content-free until it is locked, so that a recovery which finds it in between
// takes it for nothing.
func (w *Writer) begin(r record) (*entry, error) {
	e, err := w.open()
	if err != nil {
		return nil, err
	}
	return e, e.write(r)
}

// fill writes and syncs the temporary file.
func (w *Writer) fill(dir disk.Dir, name, temp string, f File) (disk.Info, error) {
	perm := fs.FileMode(0o600)
	if f.Old == nil {
		if perm = f.Mode; perm == 0 {
			perm = 0o666
		}
	}
	out, err := dir.Open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return disk.Info{}, err
	}
	defer out.Close()
	if _, err := out.Write(f.Data); err != nil {
		return disk.Info{}, err
	}
	if f.Old != nil {
		if err := carryOver(dir, name, *f.Old, out); err != nil {
			return disk.Info{}, err
		}
	}
	if err := out.Sync(); err != nil {
		return disk.Info{}, err
	}
	return out.Stat()
}

// carryOver gives the new file the owner, attributes and mode of the old one. The mode comes last: changing the owner clears
// the setuid bit.
func carryOver(dir disk.Dir, name string, old disk.Info, out disk.File) error {
	now, err := out.Stat()
	if err != nil {
		return err
	}
	if now.UID != old.UID || now.GID != old.GID {
		if err := out.Chown(old.UID, old.GID); err != nil {
			return fmt.Errorf("%w: %w", errKeep, err)
		}
	}
	in, err := dir.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := sameAttributes(in, out); err != nil {
		return err
	}
	return out.Chmod(old.Mode)
}

// sameAttributes gives out the extended attributes of in and no others: a new file may have inherited an access list from its
// directory that lets more people in.
func sameAttributes(in, out disk.File) error {
	want, err := in.Xattrs()
	if err != nil {
		return err
	}
	has, err := out.Xattrs()
	if err != nil {
		return err
	}
	for name := range has {
		if _, ok := want[name]; !ok {
			if err := out.RemoveXattr(name); err != nil && !system(name, err) {
				return fmt.Errorf("%w: %w", errKeep, err)
			}
		}
	}
	for name, value := range want {
		if err := out.SetXattr(name, value); err != nil && !system(name, err) {
			return fmt.Errorf("%w: %w", errKeep, err)
		}
	}
	return nil
}

// system reports whether an attribute could not be changed because the system keeps it itself.
func system(name string, err error) bool {
	return strings.HasPrefix(name, "security.") && errors.Is(err, syscall.EPERM)
}

// swap puts the temporary file in its place. The second look keeps the time in which a foreign write could be lost as short as
// it can be.
func swap(dir disk.Dir, name, temp string, old *disk.Info) error {
	if old == nil {
		err := dir.RenameNew(temp, name)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: it now exists", ErrChanged)
		}
		return err
	}
	if err := unchanged(dir, name, old); err != nil {
		return err
	}
	return dir.Rename(temp, name)
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
