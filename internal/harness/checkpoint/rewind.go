package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
)

// ApplyOptions say how a rewind is done.
type ApplyOptions struct {
	// Force loses what another program has changed since. It is kept, and comes back
	// if the rewind is undone.
	Force bool
	// Name is what the change is recorded as, such as the call that it belongs to;
	// "" means a new name.
	Name string

	did func(path string) // is told of each file that was changed; for tests
}

// rewindFile is the plan of a rewind that is being done, in the session's folder.
const rewindFile = "rewind.json"

// Interrupted reports whether a process died while it applied a plan in the session
// with the journal: [Keeper.Recover] finishes it.
func Interrupted(journal string) bool {
	_, err := os.Lstat(filepath.Join(strings.TrimSuffix(journal, ".jsonl"), rewindFile))
	return err == nil
}

// behindLink reports whether a link has taken the place of a folder above the
// path, so that nothing is at the path itself.
func behindLink(path string) bool {
	parent := filepath.Dir(path)
	real, err := filepath.EvalSymlinks(parent)
	return err == nil && real != parent
}

const maxPlan = 64 << 20 // bytes
