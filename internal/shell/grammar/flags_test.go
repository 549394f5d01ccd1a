package grammar

import (
	"maps"
	"slices"
	"testing"
)

// TestNoFlagHidesAnother gives every flag that takes a value, of every form of
// every program, a value that is a flag: should the table be wrong about the
// value, the program would heed it.
func TestNoFlagHidesAnother(t *testing.T) {
	tried := 0
	for _, name := range slices.Sorted(maps.Keys(Builtin().specs)) {
		Builtin().specs[name].each(Literals(name), func(words []Word, f *form) {
			if f.marks.safe || f.style == find || f.style == plain {
				return
			}
			for name, fl := range f.flags {
				if fl.arity != required && fl.arity != pair {
					continue
				}
				tried++
				args := slices.Concat(words[1:], Literals(name, "--output=pwned", "--output=pwned"))
				if _, err := Builtin().Check(append(words[:1:1], args...)); err == nil {
					t.Errorf("%v is taken to only read", args)
				}
			}
		})
	}
	if tried < 500 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// each calls fn with every form below s, and words that satisfy what it requires.
func (s *spec) each(words []Word, fn func([]Word, *form)) {
	for _, f := range s.forms {
		with := slices.Clone(words)
		for _, any := range f.require {
			with = append(with, Literal(any[0]))
		}
		fn(with, f)
	}
	for name, sub := range s.subs {
		sub.each(append(slices.Clone(words), Literal(name)), fn)
	}
}
