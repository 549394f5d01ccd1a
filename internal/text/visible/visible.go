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
	return escape(s, func(r, _ rune) bool { return unicode.IsPrint(r) })
}

// Prose is [Text] for what people write to each other, in which the blanks of other scripts and
// joined emoji are ordinary. What is approved is shown by Text: to a shell, only the blank of
// ASCII ends a word.
func Prose(s string) string {
	return escape(s, func(r, before rune) bool {
		joins := r == zeroWidthJoiner && (unicode.In(before, unicode.So, unicode.Sk) || unicode.Is(unicode.Variation_Selector, before))
		return joins || unicode.IsPrint(r) || unicode.Is(unicode.Zs, r)
	})
}

const zeroWidthJoiner = '\u200d'

// escape keeps the characters that shows approves of, given with the one before.
func escape(s string, shows func(r, before rune) bool) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range s {
		if r == '\n' || r == '\t' || shows(r, before) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		before = r
	}
	return b.String()
}

// Indented is Text whose lines after the first are indented: none of them can be
// taken for a line of ours.
func Indented(s string) string { return strings.ReplaceAll(Text(s), "\n", "\n  ") }

// Name is Text in one line, for names of files, which may have any character in them.
func Name(s string) string {
	return strings.NewReplacer("\n", `\u{a}`, "\t", `\u{9}`).Replace(Text(s))
}

// Cells is Indented with four spaces for each tab, for what is laid out by its width.
func Cells(s string) string { return Indented(strings.ReplaceAll(s, "\t", "    ")) }

// ProseCells is Cells for [Prose].
func ProseCells(s string) string {
	return strings.ReplaceAll(Prose(strings.ReplaceAll(s, "\t", "    ")), "\n", "\n  ")
}

// longRun is how many blanks in a row are more than anyone aligns text with.
const longRun = 16

// Blanks marks the blanks that nobody sees: those at the end of a line, and long runs
// of them before something that may be off the screen.
func Blanks(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = markBlanks(line)
	}
	return strings.Join(lines, "\n")
}

func markBlanks(line string) string {
	text := strings.TrimRight(line, " \t")
	trailing := len(line) - len(text)
	rest := strings.TrimLeft(text, " \t")
	var b strings.Builder
	b.WriteString(text[:len(text)-len(rest)]) // indentation hides nothing
	for rest != "" {
		at := strings.IndexAny(rest, " \t")
		if at < 0 {
			at = len(rest)
		}
		next := strings.TrimLeft(rest[at:], " \t")
		run := rest[at : len(rest)-len(next)]
		b.WriteString(rest[:at])
		if len(run) >= longRun {
			run = fmt.Sprintf(" ␠×%d ", len(run))
		}
		b.WriteString(run)
		rest = next
	}
	switch {
	case trailing > 3:
		fmt.Fprintf(&b, "␠×%d", trailing)
	case trailing > 0:
		b.WriteString(strings.Repeat("␠", trailing))
	}
	return b.String()
}
