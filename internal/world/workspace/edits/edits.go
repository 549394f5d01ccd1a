// Package edits turns "replace this text by that" into byte splices of a file, or into a refusal that says what to do.
//
// An old string must match exactly and once, or as often as the edit says. Two differences are forgiven, and every use of
// one is disclosed in the result's Notes: line endings, because readers are shown \n whatever the file holds, and one
// uniform change of indentation. Both must leave a single place, or the edit is refused. Quotes, dashes, blanks and other
// look-alikes are never treated as equal. The new string goes in as it is, but for the file's own line endings.
//
//	r, err := edits.Apply(text, []edits.Edit{{Old: "a", New: "b"}})
//	// if err is not nil, nothing was changed; its text is written for the model
//
// Several edits are simulated in order on a copy; either all apply or none. Everything is a pure function of its arguments.
package edits

import (
	"slices"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// Edit is one replacement.
type Edit struct {
	Old, New string
	All      bool // replace every match
	Expect   int  // how many matches there must be; 0 means one, or any number with All
}

// Result is a file after its edits.
type Result struct {
	Raw     []byte
	Changed []Range  // places of the original raw bytes that matched, in order; everything outside them is unchanged
	Counts  []int    // replacements made by each edit
	Notes   []string // disclosures about how an edit matched
}

// Range is a half-open range of raw bytes.
type Range struct{ Start, End int }

// Apply makes the edits, in order, or none of them. The error says why not, also when a
// new text cannot be written in the file's encoding.
func Apply(t *textfile.Text, edits []Edit) (*Result, error) {
	s := &simulation{original: t, edits: edits, now: t, pieces: pieces{{n: len(t.Raw())}}}
	r := &Result{}
	for i := range edits {
		note, n, err := s.step(i)
		if err != nil {
			return nil, s.number(err)
		}
		r.Counts = append(r.Counts, n)
		if note != "" {
			r.Notes = append(r.Notes, s.prefix(i)+note)
		}
	}
	if slices.Equal(s.now.Raw(), t.Raw()) {
		return nil, s.number(undone(len(edits)))
	}
	r.Raw, r.Changed = s.now.Raw(), s.pieces.changed(len(t.Raw()))
	return r, nil
}

// check refuses an edit that can mean nothing whatever the file holds.
func check(e Edit, i int) error {
	switch {
	case e.Old == "":
		return &refusal{kind: kindEmptyOld, Edit: i + 1,
			text: "old_string is empty. Give the text to replace; to replace the whole content use Write."}
	case e.Old == e.New:
		return &refusal{kind: kindNoChange, Edit: i + 1,
			text: "old_string and new_string are the same, so there is nothing to change. Give a new_string that differs."}
	}
	return checkNumbers(e, i)
}

// checkNumbers refuses an edit that would write the line numbers of a Read into the file: several lines, counted up, where the
// text they replace has none.
func checkNumbers(e Edit, i int) error {
	cleaned, ok := withoutLineNumbers(e.New)
	if _, numbered := withoutLineNumbers(e.Old); !ok || numbered || !countedUp(e.New) {
		return nil
	}
	return &refusal{kind: kindLineNumbers, Edit: i + 1, text: "new_string begins its lines with line numbers as Read prints them, which would be written into the file. Send the edit again with this new_string:\n" + cleaned}
}

func undone(n int) *refusal {
	if n == 1 {
		return &refusal{kind: kindNoChange, Edit: 1,
			text: "The edit would leave the file as it is: new_string differs from the matched text only in line endings, and edits keep the file's own. To change them, use a formatter or Bash."}
	}
	return &refusal{kind: kindNoChange, Edit: n, text: "Together the edits leave the file as it is: a later one undoes an earlier one. Leave both out."}
}
