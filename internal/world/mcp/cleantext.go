package mcp

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// maxDescription is how much of a description the model reads, in bytes.
const maxDescription = 2048

// clean takes characters out of a server's text that people do not see and a
// model does, and says which.
func clean(text string) (cleaned string, hidden []string) {
	cleaned = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !invisible(r) {
			return r
		}
		if name := fmt.Sprintf("U+%04X", r); !slices.Contains(hidden, name) {
			hidden = append(hidden, name)
		}
		return -1
	}, strings.ToValidUTF8(text, "\ufffd"))
	return cleaned, hidden
}

// invisible reports whether a character leaves no trace on a screen: controls,
// format characters such as zero-width and direction marks, tags and variation
// selectors, which can carry a hidden text.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) ||
		r >= 0xFE00 && r <= 0xFE0E || r >= 0xE0100 && r <= 0xE01EF
}

// shorten cuts a text at a character's boundary.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
