package edits

import "fmt"

// Kind says why an edit was refused.
type Kind string

const (
	NotFound      Kind = "not found"
	Ambiguous     Kind = "ambiguous"     // more matches than one, and nothing says that all are meant
	WrongCount    Kind = "wrong count"   // not as many matches as expected
	LineNumbers   Kind = "line numbers"  // old_string carries the line numbers that Read prints
	NoChange      Kind = "no change"     // the edit changes nothing
	EmptyOld      Kind = "empty"         // old_string is empty
	Dependency    Kind = "dependency"    // an edit needs, or catches, what another inserts
	Overlap       Kind = "overlap"       // two edits match overlapping text
	Contradiction Kind = "contradiction" // two edits replace the same text
)

// Refusal says why nothing was changed and what to do next. Its text is stable and written for the model.
type Refusal struct {
	Kind    Kind
	Edit    int // number of the edit, from 1
	Other   int // for a conflict, the number of the earlier edit; else 0
	several bool
	text    string
}

func (r *Refusal) Error() string {
	if r.Other > 0 {
		return fmt.Sprintf("Edits %d and %d conflict (%s). %s", r.Other, r.Edit, r.Kind, r.text)
	}
	if r.several {
		return fmt.Sprintf("Edit %d: %s", r.Edit, r.text)
	}
	return r.text
}
