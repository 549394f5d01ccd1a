package atomic

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/workspace/disk"
)

const (
	kindReplace = "replace"
	kindInPlace = "in place"

	recordSuffix = ".write" // a record; locked while its writer lives
	oldSuffix    = ".old"   // content before a write in place
	newSuffix    = ".new"   // content after it
	keptSuffix   = ".kept"  // a record that recovery could not settle
)

// record says what a write is about to do, so that another process can clean up after it.
type record struct {
	Kind     string
	Dir      string
	Name     string
	Temp     string `json:",omitempty"` // replace: the temporary file
	Dev, Ino uint64 `json:",omitempty"` // in place: which file
	OldHash  string `json:",omitempty"`
	NewHash  string `json:",omitempty"`
}

// entry is an open record.
type entry struct {
	w    *Writer
	id   string
	file disk.File
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

// ours reports whether something is our own, with none of the given permissions.
func ours(info disk.Info, without fs.FileMode) bool {
	uid := os.Getuid()
	return uid < 0 || info.UID == uid && info.Mode&without == 0
}

// checkMade refuses what open and save cannot have made: put there by another program, or by a program that meant to be one of us.
func checkMade(f disk.File, name string) error {
	info, err := f.Stat()
	if err == nil && (!info.Mode.IsRegular() || info.Links > 1 || !ours(info, 0o077)) {
		err = fmt.Errorf("%s was not created by haft (owner %d, mode %v, %d links) and is ignored", name, info.UID, info.Mode, info.Links)
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

// lock reports false when a recovery was faster: it holds the record, or has removed it already.
func (e *entry) lock() (bool, error) {
	ok, err := e.file.Lock()
	if err != nil || !ok {
		return false, err
	}
	info, err := e.file.Stat()
	return info.Links > 0, err
}

func (e *entry) write(r record) error {
	b, err := json.Marshal(r)
	if err == nil {
		_, err = e.file.Write(b)
	}
	if err != nil {
		e.end()
	}
	return err
}

// end removes the record: the write is done, or undone.
func (e *entry) end() {
	_ = e.w.dir.Remove(e.id + recordSuffix)
	_ = e.file.Close()
}

// save keeps a content beside the record, durably.
func (e *entry) save(suffix string, data []byte) error {
	f, err := e.w.dir.Open(e.id+suffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// forget removes the saved contents.
func (e *entry) forget() {
	_ = e.w.dir.Remove(e.id + oldSuffix)
	_ = e.w.dir.Remove(e.id + newSuffix)
}
