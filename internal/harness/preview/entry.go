package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/merge"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
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

// merge returns the entry against another version before it.
func (e entry) merge(now version) (entry, bool) {
	switch {
	case now.File == e.before.File, now.File == e.after.File:
		e.before = now
		return e, true
	case now.Mode.IsDir() && e.before.Mode.IsDir() && e.after.Mode.IsDir():
		e.before = now
		return e, true // only modes
	case now.Digest == e.before.Digest && now.Link == e.before.Link && now.Mode.Type() == e.before.Mode.Type():
		// Others changed the mode or the attributes.
		if e.after.Mode == e.before.Mode && e.after.Exists() {
			e.after.Mode = now.Mode
		}
		if e.after.Attrs == e.before.Attrs {
			e.after.Attrs = now.Attrs
		}
		e.before = now
		return e, true
	}
	base, ours, theirs, ok := e.texts(now)
	if !ok {
		return e, false
	}
	m := merge.Lines(base.Lines(), ours.Lines(), theirs.Lines())
	if !m.Clean() {
		return e, false
	}
	raw := m.Bytes()
	if e.after.Mode == e.before.Mode {
		e.after.Mode = now.Mode
	}
	e.before, e.source = now, source{}
	e.after.raw, e.after.held, e.after.size, e.after.Digest = raw, true, int64(len(raw)), blob.Digest(raw)
	return e, true
}

// texts returns the three sides of a merge, if all are texts in one encoding.
func (e *entry) texts(now version) (base, ours, theirs *textfile.Text, ok bool) {
	for _, v := range []*version{&e.before, &e.after, &now} {
		if !v.held || !v.Mode.IsRegular() {
			return nil, nil, nil, false
		}
	}
	var errs [3]error
	base, errs[0] = textfile.Parse(e.before.raw)
	ours, errs[1] = textfile.Parse(e.after.raw)
	theirs, errs[2] = textfile.Parse(now.raw)
	if errors.Join(errs[:]...) != nil {
		return nil, nil, nil, false
	}
	return base, ours, theirs, base.Encoding().String() == ours.Encoding().String() && base.Encoding().String() == theirs.Encoding().String()
}

// maxApplied is the largest file that is applied.
const maxApplied = 512 << 20

// keep puts the content that is to be written into the store.
func (e *entry) keep(ctx context.Context, blobs blob.Store) error {
	if e.after.Digest == "" || e.after.Digest == e.before.Digest {
		return nil
	}
	raw := e.after.raw
	if !e.after.held {
		var err error
		if raw, err = e.source.read(maxApplied); err != nil {
			return err
		}
	}
	if blob.Digest(raw) != e.after.Digest {
		return fmt.Errorf("%s no longer matches what was shown", e.path)
	}
	return blobs.Put(ctx, e.after.Digest, bytes.Clone(raw))
}

func sortEntries(list []entry) {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.path, b.path) })
}
