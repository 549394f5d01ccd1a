package atomic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/workspace/disk"
)

// Leftover is what an interrupted write left and what was done about it.
type Leftover struct {
	Path   string // the file that was being written
	Action string // in a few words
	Saved  string // where the old content is kept, when the file could not be settled
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

// dropTemp removes the temporary file of a write that never reached its rename, or has passed it.
func (e *entry) dropTemp(r record) (*Leftover, error) {
	dir, err := e.w.fs.OpenDir(r.Dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			e.end()
			return nil, nil
		}
		e.file.Close()
		return nil, err
	}
	defer dir.Close()
	if !strings.HasPrefix(r.Temp, tempPrefix) {
		e.end()
		return nil, fmt.Errorf("%q is not the name of a temporary file", r.Temp)
	}
	err = dir.Remove(r.Temp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.file.Close()
		return nil, err
	}
	e.end()
	if err != nil {
		return nil, nil
	}
	return &Leftover{Path: filepath.Join(r.Dir, r.Name), Action: "removed the temporary file of an interrupted write; the file has its previous content"}, nil
}

// undo gives a half-written file its old content back.
func (e *entry) undo(r record) (*Leftover, error) {
	path := filepath.Join(r.Dir, r.Name)
	old, err := e.load(oldSuffix, r.OldHash)
	if err != nil {
		e.file.Close()
		return nil, err
	}
	new, err := e.load(newSuffix, r.NewHash)
	if err != nil {
		e.file.Close()
		return nil, err
	}
	dir, err := e.w.fs.OpenDir(r.Dir)
	if err != nil {
		return e.keep(path, "its directory cannot be opened")
	}
	defer dir.Close()
	file, err := dir.Open(r.Name, os.O_RDWR, 0)
	if err != nil {
		return e.keep(path, "it cannot be opened")
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Ino != r.Ino || info.Dev != r.Dev {
		return e.keep(path, "another file has taken its place")
	}
	now, err := readAll(file, info.Size)
	if err != nil {
		e.file.Close()
		return nil, err
	}
	switch h := hash(now); {
	case h == r.OldHash, h == r.NewHash:
		e.end()
		e.forget()
		return nil, nil
	case !torn(now, old, new):
		return e.keep(path, "it has changed since")
	}
	if err := put(file, old, len(now)); err != nil {
		e.file.Close()
		return nil, err
	}
	e.end()
	e.forget()
	return &Leftover{Path: path, Action: "restored the content from before an interrupted write"}, nil
}

// torn reports whether now is what a write of new over old, stopped anywhere, can have left: every byte is one of either.
func torn(now, old, new []byte) bool {
	if len(now) < min(len(old), len(new)) || len(now) > max(len(old), len(new)) {
		return false
	}
	for i, b := range now {
		if !(i < len(old) && old[i] == b) && !(i < len(new) && new[i] == b) {
			return false
		}
	}
	return true
}

func (e *entry) load(suffix, want string) ([]byte, error) {
	f, err := e.w.dir.Open(e.id+suffix, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkMade(f, e.id+suffix); err != nil {
		return nil, err
	}
	b, err := readAll(f, 0)
	if err == nil && hash(b) != want {
		err = fmt.Errorf("the saved content %s is damaged", e.id+suffix)
	}
	return b, err
}

// keep leaves the saved contents for a user, and the record under a name that is not looked at again.
func (e *entry) keep(path, why string) (*Leftover, error) {
	defer e.file.Close()
	if err := e.w.dir.Rename(e.id+recordSuffix, e.id+keptSuffix); err != nil {
		return nil, err
	}
	return &Leftover{Path: path, Action: "left as it is: " + why, Saved: filepath.Join(e.w.journal, e.id+oldSuffix)}, nil
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
