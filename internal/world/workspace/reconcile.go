package workspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/workspace/merge"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// Choice says how to resolve a conflict with another program's change.
type Choice string

const (
	Refuse    Choice = ""          // write nothing and say what conflicts
	Overwrite Choice = "overwrite" // take the edit wherever both changed the same lines, and keep the rest of the other program's change
	Markers   Choice = "markers"   // write both sides between git's conflict markers
)

// A changedError is why an edit does not fit a file that another program has changed.
type changedError struct {
	error
	disk string // the hash of the file as it is
}

func (e *changedError) Unwrap() error { return e.error }

// fitNow applies a revision to the file as it is, if it can tell that it fits.
func fitNow(r Revision, f *File, foreign []patch.Hunk) ([]byte, *Outcome, error) {
	if r.Whole && r.OnConflict != Overwrite {
		return nil, nil, refuse(Stale, "%s has changed since it was read, and the changes cannot be merged. Nothing was written. Read it again, or send this call again with on_conflict set to \"overwrite\" to replace its whole content.", r.Path.Path)
	}
	raw, notes, err := r.Make(f.Text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s has changed since it was read. Read it again. %w", r.Path.Path, err)
	}
	return raw, &Outcome{Stale: true, Foreign: foreign, Notes: notes}, nil
}

// decodeChunks returns the same merge with decoded lines.
func decodeChunks(m merge.Result, enc textfile.Encoding) merge.Result {
	decode := func(lines [][]byte) [][]byte {
		out := make([][]byte, len(lines))
		for i, l := range lines {
			out[i] = enc.DecodeLine(l)
		}
		return out
	}
	var out merge.Result
	for _, c := range m.Chunks {
		c.Base, c.Ours, c.Theirs = decode(c.Base), decode(c.Ours), decode(c.Theirs)
		out.Chunks = append(out.Chunks, c)
	}
	return out
}

// clip shortens one side of a conflict to what a reader needs to decide.
func clip(lines [][]byte) [][]byte {
	const most = 40
	if len(lines) <= most {
		return lines
	}
	out := slices.Clone(lines[:most/2])
	out = append(out, fmt.Appendf(nil, "… %s …\n", plural.Of(len(lines)-most, "more line")))
	return append(out, lines[len(lines)-most/2:]...)
}

// conflictError says that an edit and another program's change touch the same lines. Nothing
// was written.
type conflictError struct {
	Path    string
	Hunks   string // the conflicts, with markers
	Foreign []patch.Hunk
	// NoMarkers says that conflict markers would break the file.
	NoMarkers bool
}

func (e *conflictError) Error() string {
	markers := ` ("markers" writes both sides between conflict markers instead)`
	if e.NoMarkers {
		markers = ""
	}
	return fmt.Sprintf(`%s has changed since it was read, in the same place. Nothing was written. The conflict (edit = this call, disk = the file now):
%s
There are three ways out:
1. overwrite: send this call again with on_conflict set to "overwrite" to use the edit here and keep the rest of the other change%s;
2. abort: leave the file as it is now;
3. read again: Read the file and make a new edit from what it says now.`, e.Path, strings.TrimRight(e.Hunks, "\n"), markers)
}
