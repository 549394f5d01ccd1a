package atomic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/disk"
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

// save writes data next to the record and syncs it.
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
