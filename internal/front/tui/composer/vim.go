package composer

import (
	"strings"

	"github.com/haftdev/haft/internal/front/tui/key"
)

// A vim is how far a command of vim's keys is.
type vim struct {
	normal   bool
	count    int  // typed so far; 0 for none
	op       rune // d, c or y that waits for a motion; 0 for none
	opCount  int
	wait     rune // f, t, F, T, r, g, i or a that waits for a character; 0 for none
	visual   rune // v or V while something is selected, from anchor on; 0 for nothing
	anchor   int
	find     rune // the last of f, t, F, T
	findWhat rune
	yanked   []rune
	lines    bool // what was yanked are whole lines

	typed  []key.Key // of the command, and what it inserts
	change bool      // the command changes the text
	last   []key.Key // the last that did
}

// isObject reports whether the letter begins the name of a text object.
func (v *vim) isObject(r rune) bool {
	return strings.ContainsRune("ia", r) && (v.op != 0 || v.visual != 0)
}

// class is what kind of character a letter of a word is, for motions by words.
func class(r rune) int {
	switch {
	case r == ' ' || r == '\t' || r == '\n':
		return 0
	case isWord(r):
		return 1
	}
	return 2
}
