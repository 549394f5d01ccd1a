package jsonstream

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// How much of the input an error shows, in bytes.
const (
	excerptBefore = 48
	excerptAfter  = 24
	maxKey        = 40
	maxPath       = 60
)

// excerpt shows raw around offset, with the rune there marked ⟦⟧ and … where
// something was left out.
func excerpt(raw []byte, offset int) string {
	start := runeStart(raw, max(0, offset-excerptBefore))
	_, size := utf8.DecodeRune(raw[offset:])
	after := offset + size
	end := runeStart(raw, min(len(raw), after+excerptAfter))

	var b strings.Builder
	if start > 0 {
		b.WriteString("…")
	}
	writeVisible(&b, raw[start:offset])
	if size > 0 {
		b.WriteString("⟦")
		writeVisible(&b, raw[offset:after])
		b.WriteString("⟧")
	}
	writeVisible(&b, raw[after:end])
	if end < len(raw) {
		b.WriteString("…")
	}
	return b.String()
}

// runeStart moves i back to the start of the rune it falls into. Among bytes that are
// not UTF-8 it may leave i where it is.
func runeStart[T []byte | string](s T, i int) int {
	for j := i; j < len(s) && j >= 0 && i-j < utf8.UTFMax; j-- {
		if utf8.RuneStart(s[j]) {
			return j
		}
	}
	return i
}

// writeVisible writes p so that each byte of it can be seen: a raw line break as ␊,
// which no one takes for the escape \n.
func writeVisible(b *strings.Builder, p []byte) {
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(b, "<0x%02x>", p[0])
		case r < ' ':
			b.WriteRune('␀' + r)
		case r == 0x7F:
			b.WriteRune('␡')
		case !strconv.IsPrint(r):
			fmt.Fprintf(b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		p = p[size:]
	}
}

// place names the value at path in a sentence.
func place(path string) string {
	if path == "" {
		return "the object"
	}
	return `"` + path + `"`
}

// quoteKey shows a key in a sentence.
func quoteKey(key string) string {
	var b strings.Builder
	writeVisible(&b, []byte(shorten(key, maxKey)))
	return `"` + b.String() + `"`
}

// shorten leaves out the middle of s if it is longer than about limit bytes.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := runeStart(s, limit/2)
	tail := runeStart(s, len(s)-limit/2)
	return s[:head] + "…" + s[tail:]
}
