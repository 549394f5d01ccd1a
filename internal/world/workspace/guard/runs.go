package guard

import (
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// A Run is a file or a folder that will run because settings, the environment or git name it: who writes it chooses what runs.
type Run struct {
	Path  string
	Why   string // "a hook runs this file"
	Reach Reach
}

// Reach is what of a path will run.
type Reach int

const (
	// Itself is the file.
	Itself Reach = iota
	// Entries are the files directly in a folder, as in one of PATH.
	Entries
	// Tree is all that is in a folder, at any depth.
	Tree
)

func (r *Run) covers(p string) bool {
	switch r.Reach {
	case Entries:
		return strings.EqualFold(r.Path, filepath.Dir(p))
	case Tree:
		return pathin.ContainsFold(r.Path, p)
	}
	return strings.EqualFold(r.Path, p)
}
