package jsonstream

import (
	"strings"
)

// text is the string in flight, a key or a value.
type text struct {
	strings.Builder // the decoded key; values are only checked

	begin int  // where its opening quote stands
	key   bool // between the quotes of a key

	mark   int  // where the escape or the rune in hand begins
	left   int  // hex digits or continuation bytes still to come
	code   rune // the \u escape in hand
	high   rune // the high surrogate that waits for its low one, or zero
	lo, hi byte // the range of the next continuation byte
}

func (t *text) write(p []byte) {
	if t.key {
		t.Write(p)
	}
}

func (t *text) writeRune(r rune) {
	if t.key {
		t.WriteRune(r)
	}
}

// escapes are the single letters after '\' and what they stand for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
