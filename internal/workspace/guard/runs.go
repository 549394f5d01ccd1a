package guard

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/pathin"
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

// addRun takes in what is in a root, under both its names.
func (g *Guard) addRun(run Run) {
	names := bothNames(g.walk(run.Path), run.Path)
	if !slices.ContainsFunc(names, func(p string) bool { return g.rootOf(p, true) != "" }) {
		return
	}
	for _, name := range names {
		run.Path = name
		g.runs = append(g.runs, run)
	}
}

// runOf says why a path will run; "" if nothing is known to run it.
func (g *Guard) runOf(p string) string {
	for _, run := range g.runs {
		if run.covers(p) {
			return run.Why
		}
	}
	return ""
}

func (r *Run) covers(p string) bool {
	switch r.Reach {
	case Entries:
		return strings.EqualFold(r.Path, filepath.Dir(p))
	case Tree:
		return pathin.ContainsFold(r.Path, p)
	}
	return strings.EqualFold(r.Path, p)
}

// Holds says which path in a folder will run, and why; "" if none is known to. Another folder in its
// place would hold other programs.
func (g *Guard) Holds(f Facts) (why string) {
	for _, run := range g.runs {
		if pathin.ContainsFold(f.Path, run.Path) || pathin.ContainsFold(f.Real, run.Path) {
			return run.Path + ": " + run.Why
		}
	}
	return ""
}
