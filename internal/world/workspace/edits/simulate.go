package edits

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// simulation applies edits one after the other in memory and remembers which bytes came from where.
type simulation struct {
	original *textfile.Text
	edits    []Edit
	now      *textfile.Text // the file as it stands after the edits so far
	pieces   pieces         // what now is made of
	replaced [][]Range      // for each edit so far, the ranges of the original it replaced
}

// step applies edit i and returns a note and the number of replacements.
func (s *simulation) step(i int) (string, int, error) {
	e := s.edits[i]
	if err := check(e, i); err != nil {
		return "", 0, err
	}
	f := find(s.now, e.Old)
	if err := s.conflict(i, f.matches); err != nil {
		return "", 0, err
	}
	ms, err := choose(s.now, e, i, f)
	if err != nil {
		return "", 0, err
	}
	return f.note, len(ms), s.replace(i, ms)
}

// maxReplaced bounds what one edit replaces.
const maxReplaced = 1_000_000

// choose applies the rule of "once, all, or as many as expected".
func choose(t *textfile.Text, e Edit, i int, f found) ([]match, error) {
	ms := f.matches
	if len(ms) == 0 {
		return nil, notFound(t, e, i)
	}
	all := apart(ms)
	switch {
	case f.loose && len(ms) > 1:
		return nil, &refusal{kind: kindAmbiguous, Edit: i + 1, text: fmt.Sprintf(
			"old_string was not found as given; with different indentation it occurs %s (%s). Send it exactly as in the file, with surrounding lines.",
			times(len(ms)), atLines(t, ms))}
	case e.Expect > 0 && len(all) != e.Expect:
		return nil, &refusal{kind: kindWrongCount, Edit: i + 1, text: fmt.Sprintf(
			"old_string occurs %s in the file (%s), not %s as expected_replacements says. Correct the number or old_string.",
			times(len(all)), atLines(t, all), times(e.Expect))}
	case len(all) > maxReplaced && (e.All || e.Expect > 0): // each takes hundreds of bytes until the edit is made
		return nil, &refusal{kind: kindWrongCount, Edit: i + 1, text: fmt.Sprintf("old_string occurs %s in the file. An edit replaces at most %d. Use a longer old_string, or a command such as sed.", times(len(all)), maxReplaced)}
	case e.All || e.Expect > 0 || len(ms) == 1:
		return all, nil
	case len(all) < len(ms):
		return nil, &refusal{kind: kindAmbiguous, Edit: i + 1, text: fmt.Sprintf(
			"old_string occurs %s in the file, overlapping itself (%s). Add text around it so that it occurs once.", times(len(ms)), atLines(t, ms))}
	}
	return nil, &refusal{kind: kindAmbiguous, Edit: i + 1, text: fmt.Sprintf(
		"old_string occurs %s in the file (%s). Add lines around it so that it occurs once, or set replace_all to true or expected_replacements to %d to replace every one.",
		times(len(ms)), atLines(t, ms), len(ms))}
}

// replace puts the new string of edit i in the place of each match. What a match and the new string have in common at both
// ends keeps its raw bytes, and with them its own line endings.
func (s *simulation) replace(i int, ms []match) error {
	new := s.edits[i].New
	ending := endings(s.now)
	cuts := make([]textfile.Splice, len(ms))
	spans := make([]replacement, len(ms))
	for j, m := range ms {
		old := s.now.Bytes()[m.start:m.end]
		head, newHead := sharedHead(old, new)
		tail, newTail := sharedTail(old[head:], new[newHead:])
		middle := textfile.WithEndings(new[newHead:len(new)-newTail], ending(m.start+head))
		cuts[j] = textfile.Splice{Start: m.start + head, End: m.end - tail, New: middle}
		encoded, err := s.original.Encoding().Encode(middle)
		if err != nil {
			return err
		}
		from, to := s.now.Offset(m.start), s.now.Offset(m.end)
		removed := s.now.Offset(cuts[j].End) - s.now.Offset(cuts[j].Start)
		spans[j] = replacement{Range{from, to}, to - from - removed + len(encoded)}
	}
	raw, err := s.now.Splice(cuts)
	if err != nil {
		return err
	}
	var original []Range
	layout := s.pieces.layout()
	for _, r := range spans {
		original = append(original, layout.original(r.Range)...)
	}
	s.replaced = append(s.replaced, original)
	s.pieces = s.pieces.replace(spans, i+1)
	s.now = textfile.Decode(raw, s.original.Encoding())
	return nil
}

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

// prefix names an edit when there are several.
func (s *simulation) prefix(i int) string {
	if len(s.edits) == 1 {
		return ""
	}
	return fmt.Sprintf("edit %d: ", i+1)
}

// number completes a refusal with whether there is anything to number.
func (s *simulation) number(err error) error {
	if no, ok := err.(*refusal); ok {
		no.several = len(s.edits) > 1
	}
	return err
}

// endings says which ending new lines get at a place. Only in a mixed file does that depend on the place.
func endings(t *textfile.Text) func(off int) string {
	switch t.EOL() {
	case textfile.CRLF:
		return func(int) string { return "\r\n" }
	case textfile.CR:
		return func(int) string { return "\r" }
	case textfile.Mixed:
		return t.EndingAt
	}
	return func(int) string { return "\n" }
}

// sharedHead returns how much of old and of new is the same from the start, a \n in new standing for any ending in old.
func sharedHead(old []byte, new string) (int, int) {
	i, j := 0, 0
	for i < len(old) && j < len(new) {
		switch {
		case new[j] == '\n' && bytes.HasPrefix(old[i:], []byte("\r\n")):
			i += 2
			j++
			continue
		case old[i] != new[j]:
			return boundary(old, new, i, j)
		}
		i++
		j++
	}
	return boundary(old, new, i, j)
}

// boundary backs up to where neither a character nor a \r\n is split.
func boundary(old []byte, new string, i, j int) (int, int) {
	for i > 0 && j > 0 && (splits(old, i) || splits(new, j)) {
		i--
		j--
	}
	return i, j
}

// splits reports whether i lies inside a character or a \r\n.
func splits[T string | []byte](s T, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	return !utf8.RuneStart(s[i]) || s[i-1] == '\r' && s[i] == '\n'
}

// sharedTail is sharedHead from the end.
func sharedTail(old []byte, new string) (int, int) {
	i, j := len(old), len(new)
	for i > 0 && j > 0 {
		if new[j-1] == '\n' && bytes.HasSuffix(old[:i], []byte("\r\n")) && !strings.HasSuffix(new[:j], "\r\n") {
			i -= 2
			j--
			continue
		}
		if old[i-1] != new[j-1] {
			break
		}
		i--
		j--
	}
	for i < len(old) && j < len(new) && (splits(old, i) || splits(new, j)) {
		i++
		j++
	}
	return len(old) - i, len(new) - j
}
