package edits

import (
	"fmt"
	"strings"
)

// conflict refuses edit i when what it matches, or fails to match, is the doing of another edit. Only one relation between
// edits is allowed: a later edit that changes text which an earlier one put there and which the file did not hold before.
func (s *simulation) conflict(i int, ms []match) error {
	if len(ms) == 0 {
		return s.lost(i)
	}
	if i == 0 {
		return nil
	}
	within, untouched := 0, false
	now := s.pieces.layout()
	for _, m := range ms {
		by, whole := now.touch(Range{s.now.Offset(m.start), s.now.Offset(m.end)})
		switch {
		case by == 0:
			untouched = true
		case !whole:
			return overlap(by, i+1)
		default:
			within = by
		}
	}
	if within == 0 {
		return nil
	}
	if untouched {
		return &refusal{kind: kindDependency, Other: within, Edit: i + 1, text: fmt.Sprintf(
			"The old_string of edit %d occurs in the file and also in the text that edit %d inserts, so which is meant depends on the order. Make the old_string of edit %d longer, or put its change into the new_string of edit %d.",
			i+1, within, i+1, within)}
	}
	if before := s.edits[within-1]; before.New == s.edits[i].Old && before.Old == s.edits[i].New {
		return contradiction(within, i+1)
	}
	return nil
}

// lost explains why edit i no longer matches, when it did before other edits or would after them.
func (s *simulation) lost(i int) error {
	for _, m := range find(s.original, s.edits[i].Old).matches {
		want := Range{s.original.Offset(m.start), s.original.Offset(m.end)}
		for by, ranges := range s.replaced {
			for _, r := range ranges {
				if r == want {
					return contradiction(by+1, i+1)
				}
				if r.Start < want.End && want.Start < r.End {
					return overlap(by+1, i+1)
				}
			}
		}
	}
	for later := i + 1; later < len(s.edits); later++ {
		if strings.Contains(string(normalize([]byte(s.edits[later].New))), string(normalize([]byte(s.edits[i].Old)))) {
			return &refusal{kind: kindDependency, Other: i + 1, Edit: later + 1, text: fmt.Sprintf(
				"The old_string of edit %d is not in the file; only edit %d, which comes later, inserts it. Put edit %d first, or make both one edit.",
				i+1, later+1, later+1)}
		}
	}
	return nil
}

func overlap(a, b int) error {
	return &refusal{kind: kindOverlap, Other: a, Edit: b, text: fmt.Sprintf(
		"The old_string of edit %d overlaps the text that edit %d replaces. Make them one edit, or shorten one old_string so that they do not meet.", b, a)}
}

func contradiction(a, b int) error {
	return &refusal{kind: kindContradiction, Other: a, Edit: b, text: fmt.Sprintf(
		"Both replace the same text, and only one new_string can take its place. Leave out edit %d or edit %d.", a, b)}
}
