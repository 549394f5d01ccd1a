package edits

import "fmt"

// kind says why an edit was refused.
type kind string

const (
	kindNotFound      kind = "not found"
	kindAmbiguous     kind = "ambiguous"     // more matches than one, and nothing says that all are meant
	kindWrongCount    kind = "wrong count"   // not as many matches as expected
	kindLineNumbers   kind = "line numbers"  // old_string carries the line numbers that Read prints
	kindNoChange      kind = "no change"     // the edit changes nothing
	kindEmptyOld      kind = "empty"         // old_string is empty
	kindDependency    kind = "dependency"    // an edit needs, or catches, what another inserts
	kindOverlap       kind = "overlap"       // two edits match overlapping text
	kindContradiction kind = "contradiction" // two edits replace the same text
)

// refusal says why nothing was changed and what to do next. Its text is stable and written for the model.
type refusal struct {
	kind    kind
	Edit    int // number of the edit, from 1
	Other   int // for a conflict, the number of the earlier edit; else 0
	several bool
	text    string
}

func (r *refusal) Error() string {
	if r.Other > 0 {
		return fmt.Sprintf("Edits %d and %d conflict (%s). %s", r.Other, r.Edit, r.kind, r.text)
	}
	if r.several {
		return fmt.Sprintf("Edit %d: %s", r.Edit, r.text)
	}
	return r.text
}
