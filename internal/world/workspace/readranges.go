package workspace

import (
	"context"
	"math"

	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// Whole is the range of a file that an agent knows completely.
var Whole = readstate.Range{From: 1, To: math.MaxInt32}

// checkSeen refuses a change of what the agent was not shown. An edit needs a file of which it saw anything; a whole new content
// replaces every line, so that every line must have been seen.
func (w *Workspace) checkSeen(ctx context.Context, r Revision, f *File, seen readstate.Entry, ok bool) error {
	switch {
	case len(f.Raw) == 0, r.Unseen: // there is nothing to see; or a program makes the change, of whatever is there
		return nil
	case !ok, len(seen.Ranges) == 0 && seen.Size > 0:
		return refuse(Unread, "%s has not been read yet. Read it first, then send this call again.", r.Path.Path)
	case !r.Whole:
		return nil
	}
	text := f.Text
	if seen.Hash != f.Hash {
		if text = w.base(ctx, r.Agent, seen); text == nil {
			return nil // nobody knows what was there; see fitNow
		}
	}
	gap, ok := firstGap(seen.Ranges, len(text.Lines()))
	if !ok {
		return nil
	}
	return refuse(Unread, "%s has been read only in part: lines %d-%d have not been shown, and new content for the whole file would drop them. Call Read with file_path %q, offset %d and limit %d, then send this call again; or change the part you know with Edit.",
		r.Path.Path, gap.From, gap.To, r.Path.Path, gap.From, gap.To-gap.From+1)
}

// base returns what an agent has read as text, or nil if it is no longer at hand.
func (w *Workspace) base(ctx context.Context, agent string, seen readstate.Entry) *textfile.Text {
	raw := seen.Base
	if raw == nil { // the read state had no room for it; a write may have kept it
		raw, _ = w.blobs.Get(ctx, seen.Hash)
	}
	if raw == nil {
		return nil
	}
	enc, err := w.Encoding(agent, seen.Path, raw)
	if err != nil {
		return nil
	}
	return textfile.Decode(raw, enc)
}

// firstGap returns the first run of lines up to n that ascending ranges leave out.
func firstGap(ranges []readstate.Range, n int) (readstate.Range, bool) {
	next := 1
	for _, r := range ranges {
		if r.From > next {
			n = min(n, r.From-1)
			break
		}
		next = r.To + 1
	}
	return readstate.Range{From: next, To: n}, next <= n
}

// known returns what the agent knows of the content that a revision left: all of what it wrote, else the lines it had seen,
// where they are now, and those that the result shows.
func (w *Workspace) known(r Revision, o *Outcome) []readstate.Range {
	if r.Whole || o.Before == nil {
		return []readstate.Range{Whole}
	}
	seen, ok := w.Seen(r.Agent).Get(o.Path)
	switch {
	case !ok:
		return nil
	case o.Stale && o.Foreign == nil:
		return moved(nil, o.Hunks, ShownHunks)
	}
	return moved(moved(seen.Ranges, o.Foreign, len(o.Foreign)), o.Hunks, ShownHunks)
}

// ShownHunks is the number of hunks of a change that a result shows to the model.
const ShownHunks = 3

// moved says where lines are after a change, the first hunks of which were shown.
func moved(ranges []readstate.Range, hunks []patch.Hunk, shown int) []readstate.Range {
	var out []readstate.Range
	at, shift := 1, 0 // lines before at are done; those after it stand shift lines further down
	keep := func(to int) {
		for _, r := range ranges {
			if from, to := max(r.From, at), min(r.To, to); from <= to {
				out = append(out, readstate.Range{From: from + shift, To: to + shift})
			}
		}
	}
	for i, h := range hunks {
		oldEnd, newEnd := h.OldStart+h.OldLines, h.NewStart+h.NewLines
		keep(h.OldStart - 1)
		if h.NewLines > 0 && i < shown {
			out = append(out, readstate.Range{From: h.NewStart, To: newEnd - 1})
		}
		at, shift = oldEnd, newEnd-oldEnd
	}
	keep(math.MaxInt32 - max(shift, 0))
	return out
}

// remember notes the content that a revision left as known to its agent, as far as it is.
func (w *Workspace) remember(r Revision, o *Outcome, e readstate.Entry) {
	if e.Ranges = w.known(r, o); len(e.Ranges) > 0 || e.Size == 0 {
		w.Saw(r.Agent, e)
	}
}
