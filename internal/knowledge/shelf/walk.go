package shelf

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds are how far [Shelf.Walk] goes.
type Bounds struct {
	// Depth is how many folders deep; 0 means the folder itself.
	Depth int
	// Entries is how many files and folders are looked at.
	Entries int
}

// Walk returns the names of the files below a folder, sorted, and whether these
// are all. A folder that is not there is empty. Links are followed as far as the
// shelf lets them lead, and never in a circle.
func (s *Shelf) Walk(dir string, b Bounds) (names []string, complete bool) {
	w := walk{shelf: s, left: b.Entries}
	w.folder(dir, b.Depth, nil)
	slices.Sort(w.names)
	return w.names, !w.cut
}

// Folders returns the names of the folders in a folder, sorted, and whether these
// are all among as many entries as may be looked at.
func (s *Shelf) Folders(dir string, most int) (names []string, complete bool) {
	f, err := s.open(dir)
	if err != nil {
		return nil, true
	}
	defer f.Close()
	entries, err := f.ReadDir(most + 1)
	for _, e := range entries[:min(len(entries), most)] {
		name := path.Join(dir, e.Name())
		if s.isFolder(name, e) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, len(entries) <= most && (err == nil || err == io.EOF)
}

// isFolder looks behind an entry only if it may be a link.
func (s *Shelf) isFolder(name string, e fs.DirEntry) bool {
	if e.Type()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return e.IsDir()
	}
	info, err := s.stat(name)
	return err == nil && info.IsDir()
}

type walk struct {
	shelf *Shelf
	names []string
	left  int
	cut   bool
}

// folder looks at a folder; above are those that it is in.
func (w *walk) folder(dir string, depth int, above []fs.FileInfo) {
	f, err := w.shelf.open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.IsDir() || slices.ContainsFunc(above, func(up fs.FileInfo) bool { return os.SameFile(up, info) }) {
		return
	}
	entries, err := f.ReadDir(w.left + 1)
	w.cut = w.cut || err != nil && err != io.EOF
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if w.left--; w.left < 0 {
			w.cut = true
			return
		}
		w.entry(path.Join(dir, e.Name()), e, depth, append(above, info))
	}
}

func (w *walk) entry(name string, e fs.DirEntry, depth int, above []fs.FileInfo) {
	mode := e.Type()
	if mode&fs.ModeSymlink != 0 {
		info, err := w.shelf.stat(name)
		if err != nil {
			return // it leads nowhere, or out
		}
		mode = info.Mode()
	}
	switch {
	case mode.IsRegular():
		w.names = append(w.names, name)
	case mode.IsDir() && depth > 0:
		w.folder(name, depth-1, above)
	case mode.IsDir():
		w.cut = true
	}
}

// Has reports whether something has the name.
func (s *Shelf) Has(name string) bool {
	_, err := s.stat(name)
	return err == nil
}

func (s *Shelf) stat(name string) (fs.FileInfo, error) {
	if s.root != nil {
		return s.root.Stat(filepath.FromSlash(name))
	}
	return os.Stat(s.Path(name))
}

// Sum returns the hash of a file's bytes, and how many were read. A file of more
// than that many is not read, and has its size and time for a hash.
func (s *Shelf) Sum(name string, most int64) (sum string, size int64, err error) {
	f, err := s.open(name)
	if err != nil {
		return "", 0, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, cause(err)
	}
	if !info.Mode().IsRegular() {
		return "", 0, ErrNotRegular
	}
	if info.Size() > most {
		return fmt.Sprintf("too large: %d bytes of %s", info.Size(), info.ModTime().UTC()), 0, nil
	}
	h := sha256.New()
	if size, err = io.Copy(h, io.LimitReader(f, most)); err != nil {
		return "", size, cause(err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
