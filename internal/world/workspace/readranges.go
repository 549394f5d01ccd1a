package workspace

import (
	"math"

	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
)

// Whole is the range of a file that an agent knows completely.
var Whole = readstate.Range{From: 1, To: math.MaxInt32}

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
