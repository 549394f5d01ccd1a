package preview

import (
	"errors"
	"slices"
	"strings"

	"github.com/haftdev/haft/shellrun"
)

// A Result is a command that ran, and what it would change.
type Result struct {
	Task *shellrun.Task
	// Copied says that it ran in a copy of the folders, and why; "" for an overlay.
	Copied string
	// Refused are the hosts that it wanted to reach and could not.
	Refused []string
	// Outside are paths outside of the folders that it changed or deleted; that is dropped.
	Outside []string
	// Caches is how many files it wrote in caches; they are dropped.
	Caches int
	// LeftOut are sockets and devices that it made, which cannot be applied.
	LeftOut []string

	request Request
	dirs    []string
	entries []entry
	unsure  []string
	broken  error  // why the change is not known
	dir     string // where the shell is after the command
	cleanup []func() error
}

// Changed reports whether there is anything to apply.
func (r *Result) Changed() bool { return len(r.entries) > 0 }

// ChangesGit reports whether a git repository is among the changes.
func (r *Result) ChangesGit() bool {
	return slices.ContainsFunc(r.entries, func(e entry) bool { return strings.Contains(e.path+"/", "/.git/") })
}

// Drop forgets the changes. After Apply it only gives the space back.
func (r *Result) Drop() error {
	var failed []error
	for _, f := range r.cleanup {
		failed = append(failed, f())
	}
	r.cleanup = nil
	return errors.Join(failed...)
}
