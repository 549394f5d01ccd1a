package runs

import (
	"time"

	"github.com/haftdev/haft/fleet/internal/workspace"
)

// A Workspace is where the files of a run come from, and where they are stored.
type Workspace struct {
	workspace.Spec
	// Base is the commit that the run began with, BaseBranch its branch.
	Base       string `json:"base,omitempty"`
	BaseBranch string `json:"base_branch,omitempty"`
	// Push is the branch that the result is pushed to; "" keeps it in the fleet's store only.
	Push string `json:"push,omitempty"`
	// Stored is what the fleet's store has, since the run last rested; the journal may have more.
	Stored *workspace.Point `json:"stored,omitempty"`
	// Pushed is the commit that was pushed, PushError why a later one could not be.
	Pushed string `json:"pushed,omitempty"`
	// Pushing are commits that were about to be pushed: whether they were is not known.
	Pushing   []string `json:"pushing,omitempty"`
	PushError string   `json:"push_error,omitempty"`
}

// Copy is what a fork of a run begins with: the same files, of which its journal says how they were.
// It pushes nothing: the branch is that of the first run.
func (w *Workspace) Copy() *Workspace {
	if w == nil {
		return nil
	}
	return &Workspace{Spec: w.Spec, Base: w.Base, BaseBranch: w.BaseBranch}
}

// check refuses what cannot be a workspace.
func (w *Workspace) check() error {
	if err := w.Check(); err != nil {
		return err
	}
	if w.Push != "" {
		return workspace.CheckBranch(w.Push)
	}
	return nil
}

// An Aside is a folder on a machine that has changes of a run which are stored nowhere else.
type Aside struct {
	Host string `json:"host"`
	Path string `json:"path"`
	// Call is the last call whose changes are stored.
	Call string    `json:"call,omitempty"`
	Time time.Time `json:"time"`
}

// MaxPushing is how many commits are known whose push has no outcome.
const MaxPushing = 20

// MaxAside is how many folders a run lists; the oldest are dropped from the list, not from the disk.
const MaxAside = 20
