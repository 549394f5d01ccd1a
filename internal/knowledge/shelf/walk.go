package shelf

import (
	"io"
	"io/fs"
	"os"
	"path"
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
