package permission

import (
	"slices"
	"strings"
)

// openWords are those of a command of which some are not known.
type openWords struct {
	words []string
	open  []bool
	more  bool // others follow
}

func (m openWords) isOpen(i int) bool { return i < len(m.open) && m.open[i] }

// mayBegin reports whether the operands from a word on may begin with others, one of which is not
// known.
func (m openWords) mayBegin(i int, want []string, afterFlag, guessed bool) bool {
	switch {
	case len(want) == 0:
		return guessed
	case i == len(m.words):
		return m.more
	case !m.isOpen(i) && isFlag(m.words[i]):
		return m.mayBegin(i+1, want, !strings.Contains(m.words[i], "="), guessed)
	case m.isOpen(i) && afterFlag && m.operandAfter(i): // the value of that option
		return m.mayBegin(i+1, want, false, guessed)
	case m.isOpen(i):
		return m.mayBegin(i+1, want[1:], false, true)
	case m.words[i] == want[0] && m.mayBegin(i+1, want[1:], false, guessed):
		return true
	}
	return afterFlag && m.mayBegin(i+1, want, false, guessed)
}

func (m openWords) operandAfter(i int) bool {
	return slices.ContainsFunc(m.words[i+1:], func(word string) bool { return !isFlag(word) })
}
