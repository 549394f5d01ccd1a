package worktree

import (
	"errors"
	"strings"
)

// A Loss is what is in a tree and nowhere else.
type Loss struct {
	Files   []string // changed or new and not committed, as git status shows them
	Commits []string // that no other branch, tag or remote has: hash and subject
}

// Empty reports whether nothing would be lost.
func (l Loss) Empty() bool { return len(l.Files) == 0 && len(l.Commits) == 0 }

// RemoveOptions say how a tree is removed. Nil means all zero values.
type RemoveOptions struct {
	// Discard throws away what is only in the tree, after it was kept under a
	// reference.
	Discard bool
}

// Removed is what became of a tree.
type Removed struct {
	KeptBranch string // a branch that was kept for its commits; "" if it is gone
	Saved      string // the reference under which discarded work is kept; "" if there was none
}

// ErrWork says that a tree was not removed for the work in it.
var ErrWork = errors.New("the worktree contains work that is nowhere else")

func lines(s string) []string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
