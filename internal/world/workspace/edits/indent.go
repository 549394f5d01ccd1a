package edits

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A line of the file: where it begins, where its indentation and its text end, and where the next begins.
type line struct{ start, body, end, next int }

func (l line) indent(text []byte) string { return string(text[l.start:l.body]) }
func (l line) text(text []byte) string   { return string(text[l.body:l.end]) }

// fileLines splits a text at \n, \r\n, or \r where there is no \n.
func fileLines(text []byte) []line {
	newline := byte('\n')
	if bytes.IndexByte(text, '\n') < 0 {
		newline = '\r'
	}
	var out []line
	for at := 0; at < len(text); {
		l := line{start: at, end: len(text), next: len(text)}
		if i := bytes.IndexByte(text[at:], newline); i >= 0 {
			l.end, l.next = at+i, at+i+1
			if newline == '\n' && l.end > at && text[l.end-1] == '\r' {
				l.end--
			}
		}
		l.body = at + indentLen(text[at:l.end])
		out = append(out, l)
		at = l.next
	}
	return out
}

func indentLen(b []byte) int {
	n := 0
	for n < len(b) && (b[n] == ' ' || b[n] == '\t') {
		n++
	}
	return n
}

// wanted is an old string as lines.
type wanted struct {
	indents, bodies []string
	ended           bool // old ends with a newline, so the last line must be whole
	anchor          int  // first line that is not blank
}

func splitWanted(old string) (wanted, bool) {
	s := string(normalize([]byte(old)))
	w := wanted{anchor: -1}
	s, w.ended = strings.CutSuffix(s, "\n")
	for i, l := range strings.Split(s, "\n") {
		n := indentLen([]byte(l))
		w.indents, w.bodies = append(w.indents, l[:n]), append(w.bodies, l[n:])
		if w.anchor < 0 && l[n:] != "" {
			w.anchor = i
		}
	}
	return w, w.anchor >= 0
}

// findIndented finds old where every line differs from the file by one and the same change of indentation. It returns the
// matches and a note on how they matched.
func findIndented(text []byte, old string) ([]match, string) {
	w, ok := splitWanted(old)
	if !ok {
		return nil, ""
	}
	lines := fileLines(text)
	var out []match
	note := ""
	for i := w.anchor; i < len(lines); i++ {
		first := i - w.anchor
		if first+len(w.bodies) > len(lines) || !w.bodiesMatch(text, lines[first:]) {
			continue
		}
		if m, how := w.matchAt(text, lines[first:]); how != "" {
			out = append(out, m)
			note = "old_string matched with a different indentation: " + how + ". new_string was inserted exactly as given; check its indentation."
		}
	}
	return out, note
}

// bodiesMatch compares everything but the indentation.
func (w wanted) bodiesMatch(text []byte, lines []line) bool {
	last := len(w.bodies) - 1
	for i, body := range w.bodies {
		got := lines[i].text(text)
		if i == last && !w.ended {
			return body != "" && strings.HasPrefix(got, body) && endsWord(body, got[len(body):])
		}
		if got != body {
			return false
		}
	}
	return lines[last].next > lines[last].end // an ended old string needs a line that ends
}

// endsWord reports whether no word continues from text into rest: a guess must not match half a name.
func endsWord(text, rest string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	next, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !inWord(last) || !inWord(next)
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// matchAt decides whether one change of indentation explains all lines. An old string that begins in the middle of its
// first line says nothing about that line's indentation.
func (w wanted) matchAt(text []byte, lines []line) (match, string) {
	last := len(w.bodies) - 1
	m := match{start: lines[0].start, end: lines[last].body + len(w.bodies[last])}
	if w.ended {
		m.end = lines[last].next
	}
	if how := w.change(text, lines, 0); how != "" {
		return m, how
	}
	if w.indents[0] == "" && last > 0 {
		m.start = lines[0].body
		return m, w.change(text, lines, 1)
	}
	return m, ""
}

func (w wanted) change(text []byte, lines []line, from int) string {
	var have, want []string
	for i := from; i < len(w.bodies); i++ {
		if w.bodies[i] != "" {
			have, want = append(have, lines[i].indent(text)), append(want, w.indents[i])
		}
	}
	return indentChange(have, want)
}

// indentChange names the one change that makes every indentation in want the one in have, or returns "".
func indentChange(have, want []string) string {
	if p, ok := commonExtra(have, want); ok {
		return "each line in the file has " + blanks(p) + " more"
	}
	if p, ok := commonExtra(want, have); ok {
		return "each line in the file has " + blanks(p) + " less"
	}
	for width := 2; width <= 8; width++ {
		spaces := strings.Repeat(" ", width)
		if converts(have, want, "\t", spaces) {
			return fmt.Sprintf("the file has a tab for each %d spaces of old_string", width)
		}
		if converts(have, want, spaces, "\t") {
			return fmt.Sprintf("the file has %d spaces for each tab of old_string", width)
		}
	}
	return ""
}

// commonExtra finds p such that long[i] = p + short[i] for all i.
func commonExtra(long, short []string) (string, bool) {
	if len(long) == 0 || len(long[0]) <= len(short[0]) {
		return "", false
	}
	p := long[0][:len(long[0])-len(short[0])]
	for i := range long {
		if long[i] != p+short[i] {
			return "", false
		}
	}
	return p, true
}

// converts reports whether have is want with every unit "from" written as unit "to", at least once.
func converts(have, want []string, to, from string) bool {
	changed := false
	for i := range have {
		n := len(want[i]) / len(from)
		if want[i] != strings.Repeat(from, n) || have[i] != strings.Repeat(to, n) {
			return false
		}
		changed = changed || n > 0
	}
	return changed
}

// blanks names an indentation.
func blanks(s string) string {
	tabs, spaces := strings.Count(s, "\t"), strings.Count(s, " ")
	switch {
	case tabs == 0:
		return count(spaces, "space")
	case spaces == 0:
		return count(tabs, "tab")
	}
	return count(tabs, "tab") + " and " + count(spaces, "space")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
