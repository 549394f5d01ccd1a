package atomic

import (
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/text/plural"
)

// ErrChanged says that the file is not the one that was read.
var ErrChanged = errors.New("the file changed while it was being written")

// SpaceError says that there is no room for the new content. The file is as it was.
type SpaceError struct {
	Path  string
	Store string // the directory that is full, if it is one of our own beside the file's
	Need  uint64 // bytes to be written
	Free  uint64 // bytes free for us
	Quota bool   // it is our quota that is used up
	Err   error
}

func (e *SpaceError) Error() string {
	at := ""
	if e.Store != "" {
		at = " of " + e.Store + ", where haft saves contents while it changes files"
	}
	if e.Quota {
		return fmt.Sprintf("the disk quota%s is used up: %s needs %s", at, e.Path, plural.Of(int64(e.Need), "byte"))
	}
	text := fmt.Sprintf("no space left on the device%s: %s needs %s, and %d are free", at, e.Path, plural.Of(int64(e.Need), "byte"), e.Free)
	if e.Need > e.Free {
		text += fmt.Sprintf(", so %d more are needed", e.Need-e.Free)
	}
	return text
}

func (e *SpaceError) Unwrap() error { return e.Err }

// tornError says that a write in place failed half-way and could not be undone. The old content is at Saved, and Recover will
// put it back.
type tornError struct {
	Path, Saved string
	Err         error
}

func (e *tornError) Error() string {
	return fmt.Sprintf("could not write %s, and it may now be damaged: %v; its previous content is saved in %s and will be restored when haft starts again", e.Path, e.Err, e.Saved)
}

func (e *tornError) Unwrap() error { return e.Err }

// journalError says that it was the journal that could not be written.
type journalError struct{ error }

func (e *journalError) Unwrap() error { return e.error }

// writeError words an error of the kernel, which says the same in its own way.
type writeError struct {
	text string
	err  error
}

func (e *writeError) Error() string { return e.text }
func (e *writeError) Unwrap() error { return e.err }
