// Package visible writes text of others so that a terminal shows all of it.
package visible

import (
	"fmt"
	"strings"
	"unicode"
)

// Text writes characters that move, hide or reorder others as escapes. Tabs and the
// ends of lines stay.
func Text(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\u{%x}`, r)
	}
	return b.String()
}

// Indented is Text whose lines after the first are indented: none of them can be
// taken for a line of ours.
func Indented(s string) string { return strings.ReplaceAll(Text(s), "\n", "\n  ") }

// Cells is Indented with four spaces for each tab, for what is laid out by its width.
func Cells(s string) string { return Indented(strings.ReplaceAll(s, "\t", "    ")) }
