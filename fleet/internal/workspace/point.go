package workspace

import (
	"slices"
)

// A Point is how the files were after a call. It goes into the journal.
type Point struct {
	// Call is the last call whose changes it has; "" before the first.
	Call string `json:"call,omitempty"`
	// Base is the commit that the run began with, Branch its branch.
	Base   string `json:"base"`
	Branch string `json:"branch,omitempty"`
	// Commit has the files, Tree is its tree.
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
	// Packs are the digests of what the repository does not have, the oldest first.
	Packs []string `json:"packs,omitempty"`
	// Path is the folder, on the worker's machine.
	Path string `json:"path"`
	// Left lists the files that are not stored, each with the reason.
	Left []string `json:"left,omitempty"`
}

// same reports whether two points have the same files.
func (p *Point) same(o *Point) bool { return p.Base == o.Base && p.Commit == o.Commit }

// maxPacks is how many packs a point may have: one that is made of more takes their place.
const maxPacks = 16

// state is what the message of a point's commit says about the folder's repository.
type state struct {
	Head  string            `json:"head"` // what HEAD says
	Heads map[string]string `json:"heads"`
	// Run is whose commit it is: those of two runs differ, and so do their packs.
	Run string `json:"run,omitempty"`
}

// commits are those that the branches name, each once.
func (s *state) commits() []string {
	var list []string
	for _, hash := range s.Heads {
		list = append(list, hash)
	}
	if isHash(s.Head) {
		list = append(list, s.Head)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// A DamagedError says that what was stored of a run cannot be read: it must not be continued with
// other files.
type DamagedError struct{ Why string }

func (e *DamagedError) Error() string { return e.Why }
