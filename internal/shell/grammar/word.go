package grammar

import "strings"

// A Word is one argument of a command as far as it is known before it runs.
type Word struct {
	Value   string // the value; of a word that is not literal, how it is known to begin
	Dynamic bool   // the rest of the value is not known
	Many    bool   // it may become no word or several
	Pattern string // the glob pattern that it is, "" if none
	Shape   string // of a word that is not literal: the value, NUL for each part that is not known
	Wild    bool   // the part that is not known is what some file or program says
	Listed  bool   // Wild, but each word that it becomes is the name of a file below the working directory
}

// Literal returns the word whose value is s.
func Literal(s string) Word { return Word{Value: s} }

// Literals returns the words of a command that is fully known.
func Literals(words ...string) []Word {
	out := make([]Word, len(words))
	for i, s := range words {
		out[i] = Literal(s)
	}
	return out
}

// Known reports whether the value is the whole truth.
func (w Word) Known() bool { return !w.Dynamic && w.Pattern == "" }

// flagless reports whether the word, whatever it becomes, is no flag.
func (w Word) flagless() bool {
	return w.Value != "" && !strings.ContainsRune("-(!,+@", rune(w.Value[0]))
}
