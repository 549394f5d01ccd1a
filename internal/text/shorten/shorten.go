// Package shorten cuts texts that are too long for where they are shown.
package shorten

import (
	"strings"
	"unicode/utf8"
)

// To returns a text of at most n characters, of which the last is "…" if something was cut.
func To(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	at := 0
	for range max(n-1, 0) {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return text[:at] + "…"
}

// Line is [To] for a text that is shown in one line, with single spaces between its words.
func Line(text string, n int) string { return To(strings.Join(strings.Fields(text), " "), n) }
