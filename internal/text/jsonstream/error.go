package jsonstream

import "fmt"

// A Kind is what is wrong with an input.
type Kind uint8

const (
	Malformed    Kind = iota + 1 // not JSON, not UTF-8, or an unpaired surrogate escape
	Truncated                    // the input ended before the object did
	TooDeep                      // nested deeper than Options.MaxDepth
	TooLarge                     // longer than Options.MaxBytes
	DuplicateKey                 // an object has the same key twice
	NotObject                    // something other than an object
	TrailingData                 // something after the object
)

var kindNames = [...]string{
	Malformed:    "malformed",
	Truncated:    "truncated",
	TooDeep:      "too deep",
	TooLarge:     "too large",
	DuplicateKey: "duplicate key",
	NotObject:    "not an object",
	TrailingData: "trailing data",
}

func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// An Error says what is wrong with an input, where, and what to send instead. It does
// not depend on how the input was cut into chunks, once all of it has been received.
type Error struct {
	Kind   Kind
	Offset int64 // of the byte at fault, from zero
	Size   int64 // how many bytes were received

	// Path names the value at fault, as in edits[2].old_string, or the object or array
	// around the fault. It is empty for the whole input, and long ones are cut.
	Path string

	Problem string // what is wrong, without the place
	Found   string // what stands at Offset, if that is the problem
	Excerpt string // the input around Offset, which is marked like ⟦this⟧
	Advice  string // what to do instead, a sentence
}

// Error returns one sentence about the fault and one of advice, for a model to read.
func (e *Error) Error() string {
	switch e.Kind {
	case TooLarge:
		return fmt.Sprintf("%s; %d bytes were sent. %s", e.Problem, e.Size, e.Advice)
	case Truncated:
		return fmt.Sprintf("%s: `%s`. %s", e.Problem, e.Excerpt, e.Advice)
	}
	problem := e.Problem
	if e.Found != "" {
		problem += ", got " + e.Found
	}
	return fmt.Sprintf("%s at byte %d in `%s`. %s", problem, e.Offset, e.Excerpt, e.Advice)
}
