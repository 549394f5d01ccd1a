package workspace

import (
	"bytes"
	"io/fs"

	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// Revision is a request to change one file.
type Revision struct {
	Agent string
	Path  guard.Facts
	// Make returns the new raw content for a given text of the file, and notes to show. It
	// must have no side effects: it may be called with the text that was read and again with
	// the current text. If the file is to be created, the text is nil.
	Make func(t *textfile.Text) (raw []byte, notes []string, err error)
	// Create allows the file to be missing.
	Create bool
	// Unseen allows changing a file that the agent has not read, for changes made by a program
	// and not by a model.
	Unseen bool
	// Whole says that Make ignores the old text.
	Whole bool
	// Check reports an error if merged content makes no sense. Nil accepts any content.
	Check func(t *textfile.Text) error
	// Encoding is the encoding of the file, or of the file to be created. Nil means the one
	// that the agent chose when it read the file, otherwise the one that the bytes and the
	// project suggest.
	Encoding *textfile.Encoding
	// OnConflict says what to do if another program changed the file in the same place. Empty
	// means to refuse.
	OnConflict Choice
	// Approve, if not nil, is called with what is about to be done, while the file is locked,
	// and can stop it.
	Approve func(*Outcome) error
}

// Outcome describes a changed file.
type Outcome struct {
	Path    string         // physical
	Spelled string         // as the caller named it, absolute
	Before  *textfile.Text // on disk before; nil if the file was created
	Mode    fs.FileMode    // of the file, unchanged; 0 if the file was created
	After   *textfile.Text
	Hunks   []patch.Hunk // from Before to After, five lines of context
	Foreign []patch.Hunk // what another program changed since the file was read
	Stale   bool         // another program did change it
	Notes   []string
}

// contextLines is the number of unchanged lines around a change in results.
const contextLines = 5

// difference compares two texts line by line. Where both end their lines in \r, that is what lines end with.
func difference(a, b *textfile.Text) []patch.Hunk {
	lines := func(t *textfile.Text) []byte { return t.Bytes() }
	if a.EOL() == textfile.CR && !bytes.Contains(b.Bytes(), []byte("\n")) {
		lines = func(t *textfile.Text) []byte { return bytes.ReplaceAll(t.Bytes(), []byte("\r"), []byte("\n")) }
	}
	return patch.Diff(lines(a), lines(b), contextLines)
}
