package preview

import (
	"cmp"

	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// A Request is a command to preview.
type Request struct {
	Shell   *shellrun.Shell
	Command shellrun.Request // its Box is made here
	// Dirs are the folders whose changes count, the project first. They are
	// absolute and free of links.
	Dirs []string
	// Home is a folder that the command may write for itself; what it writes there
	// is listed and dropped. "" means none.
	Home string
	// Scratch are caches, which the command may write for itself. Those in Home are
	// part of it; of the others it is not known what was written.
	Scratch []string
	// Hide are files and folders that look empty to the command.
	Hide []string
	// Deny are files and folders that the command cannot open.
	Deny []string
	// Tmp is what others have in the temporary directories; nil means that commands can only
	// read what is there, and have another folder for what they make.
	Tmp *sandbox.Tmp
	// Store is where layers and copies are kept while they are needed.
	Store string
	// Protected says why it matters who changes a path, which is then shown before
	// all others, or ""; nil means of none.
	Protected func(path string) string
	Limits
	// MaxCopyFiles and MaxCopyBytes bound the copy of the folders that is made where
	// an overlay does not work; 0 means 50,000 and 2 GB.
	MaxCopyFiles int
	MaxCopyBytes int64

	read []string // the home folder if it can have no layer
}

// Limits bound what is read of a change.
type Limits struct {
	Files int   // 0 means 100,000
	Bytes int64 // before and after together; 0 means 2 GB
}

func (r *Request) complete() {
	r.Files = cmp.Or(r.Files, 100_000)
	r.Bytes = cmp.Or(r.Bytes, 2<<30)
	r.MaxCopyFiles = cmp.Or(r.MaxCopyFiles, 50_000)
	r.MaxCopyBytes = cmp.Or(r.MaxCopyBytes, 2<<30)
}
