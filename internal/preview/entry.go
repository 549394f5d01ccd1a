package preview

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/checkpoint"
)

// An entry is what becomes of one path.
type entry struct {
	path          string // absolute, as it is on the disk
	before, after version
	source        source // where the content of after is
	inPlace       bool   // the command wrote into the file instead of replacing it
	linked        bool   // the file has other names, and it is not known whether it was written into
}

// A version is a path before or after the run.
type version struct {
	checkpoint.File
	size int64
	raw  []byte // the content, unless it is too large to hold
	held bool   // raw is the content
	stamp
}

// A source is a file in a layer or a copy.
type source struct {
	root string
	name string
}

// The most that is held in memory for showing and merging.
const (
	maxHeld    = 1 << 20  // of one file
	maxAllHeld = 64 << 20 // of all
)

// A LimitError says that a command changed more than can be previewed.
type LimitError struct{ What string }

func (e *LimitError) Error() string {
	return "the command changed too much for a preview: " + e.What
}

// reader reads files within bounds.
type reader struct {
	limits Limits
	held   int64
	bytes  int64
	files  int
}

// count takes one more path into account.
func (r *reader) count() error {
	if r.files++; r.files > r.limits.Files {
		return &LimitError{fmt.Sprintf("more than %d files", r.limits.Files)}
	}
	return nil
}

var errNotRegular = errors.New("it is no longer a regular file")

// same reports whether nothing changed: a file was only touched.
func (e *entry) same() bool {
	return e.before.File == e.after.File
}

func sortEntries(list []entry) {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.path, b.path) })
}
