package grammar

import (
	"fmt"
	"strings"
)

// A kind says what the value of a flag or an operand may be.
type kind struct {
	name   string
	path   bool                    // the value names a file that is read
	opaque bool                    // a value that is not known will do
	rev    bool                    // a file may follow a colon
	public bool                    // the value names a file of which nothing is shown that could be secret
	glob   bool                    // the value is a pattern of names of files to read
	check  func(value string) bool // nil: anything
}

// accepts returns why w cannot be a value of this kind.
func (k kind) accepts(w Word) error {
	switch {
	case k.check == nil && (k.opaque || w.Known()):
		return nil
	case !w.Known() && k.opaque:
		return nil // the files that it becomes are judged one by one
	case !w.Known():
		return fmt.Errorf("the %s must be given literally", k.name)
	case !k.check(w.Value):
		return fmt.Errorf("%q is not known to be a harmless %s", w.Value, k.name)
	}
	return nil
}

// file returns the file that a value of this kind names.
func (k kind) file(w Word) Word {
	if k.rev && w.Known() {
		w.Value = w.Value[strings.LastIndexByte(w.Value, ':')+1:]
	}
	return w
}
