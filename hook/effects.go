package hook

import (
	"github.com/haftdev/haft/tool"
)

// A Preview is what a call would change, for hooks.
type Preview struct {
	// Digest names the change.
	Digest string `json:"digest"`
	// Ran says that the command has run, but nothing has been applied yet.
	Ran bool `json:"ran"`
	// Files is empty if the call changes no file.
	Files []PreviewFile `json:"files"`
	// Notes are lines about the change, as the user sees them.
	Notes []string `json:"notes,omitempty"`
}

// A PreviewFile is the change of one file.
type PreviewFile struct {
	Path string `json:"path"`
	// From is the name that a renamed file had.
	From string `json:"from,omitempty"`
	// Change is added, changed or deleted.
	Change string `json:"change"`
	// Mode is the mode afterwards, as ls shows it; "" for a deleted file.
	Mode string `json:"mode,omitempty"`
	// Size is how many bytes it has afterwards.
	Size   int64 `json:"size"`
	Binary bool  `json:"binary,omitempty"`
	// Folded is a word for a file that is not meant to be read, such as generated or git;
	// Protected says why it matters who changes the file.
	Folded    string `json:"folded,omitempty"`
	Protected string `json:"protected,omitempty"`
	// Diff is the change of a text as hunks of a unified diff; "" if it is folded, binary
	// or large.
	Diff string `json:"diff,omitempty"`
}

// The limits on diffs sent to a hook: per file, and in all.
const (
	maxDiffed   = 1 << 20
	maxDiffText = 4 << 20
)

func textOf(v *tool.Version) []byte {
	if v == nil {
		return nil
	}
	return v.Text
}
