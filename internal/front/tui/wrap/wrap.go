// Package wrap breaks lines of text for a terminal. It is safe for concurrent use.
package wrap

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Lines breaks a line of plain text at blanks and between characters of double width,
// or anywhere in a word that is longer than a line. No line is wider than width, of which
// the screen would cut the last letter, and none but blanks are lost.
func Lines(s string, width int) []string {
	if ansi.StringWidth(s) <= width {
		return []string{s}
	}
	width = max(width, 4)
	var lines []string
	line, used, blanks := "", 0, ""
	for _, a := range atoms(s) {
		w := ansi.StringWidth(a)
		switch {
		case strings.TrimLeft(a, " ") == "":
			blanks += a
			continue
		case used+len(blanks)+w <= width:
		case used > 0:
			lines = append(lines, line)
			line, used, blanks = "", 0, ""
		default:
			blanks = ""
		}
		line, used, blanks = line+blanks+a, used+len(blanks)+w, ""
		if used > width {
			parts := strings.Split(ansi.Hardwrap(line, width, true), "\n")
			lines = append(lines, parts[:len(parts)-1]...)
			line = parts[len(parts)-1]
			used = ansi.StringWidth(line)
		}
	}
	return append(lines, line)
}

// atoms are the parts of a line that are not broken: words, runs of blanks, and characters
// of double width with the punctuation that ends after them.
func atoms(s string) []string {
	var list []string
	var kind, last rune
	for len(s) > 0 {
		c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		r, _ := utf8.DecodeRuneInString(c)
		switch {
		case c == " ":
			kind = ' '
		case w > 1:
			kind = 'W'
		default:
			kind = 'a'
		}
		closes := strings.ContainsRune("，。；：！？、…", r) || unicode.In(r, unicode.Pe, unicode.Pf)
		if n := len(list); n > 0 && last != ' ' && (closes || kind == last && kind != 'W') || n > 0 && kind == ' ' && last == ' ' {
			list[n-1] += c
		} else {
			list = append(list, c)
		}
		last, s = kind, s[len(c):]
	}
	return list
}
