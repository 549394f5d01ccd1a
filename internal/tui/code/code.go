// Package code colours source code line by line, while it is still being written.
//
//	h := code.New("go", palette)
//	coloured := h.Line("func main() {")
//
// It knows the words, strings and comments of some twenty languages as data, and
// carries over from line to line only whether a comment or a string is open. So a
// line costs its own length, however long the file is, and is coloured once: that
// is what streaming needs, and why it is no grammar. A language that it does not
// know stays as it is.
//
// A Highlighter belongs to one goroutine.
package code

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/tui/style"
)

// A Highlighter colours the lines of one text.
type Highlighter struct {
	lang  *language
	paint style.Palette
	// open is the delimiter that ends what is open since an earlier line; "" if
	// nothing is.
	open string
	as   style.Style
}

// New returns a highlighter for a language by its name, or by that of a file's
// ending.
func New(name string, p style.Palette) *Highlighter {
	return &Highlighter{lang: find(name), paint: p}
}

// Line returns the next line in colours. It must hold no escapes. A line that is no
// UTF-8 stays as it is: an escape after half a character would become part of it.
func (h *Highlighter) Line(line string) string {
	if h.lang == nil || len(line) > 4096 || !utf8.ValidString(line) { // longer ones nobody reads
		return line
	}
	if h.lang.diff {
		return h.diff(line)
	}
	var b strings.Builder
	for line != "" {
		n, s := h.token(line)
		b.WriteString(s.Of(line[:n]))
		line = line[n:]
	}
	return b.String()
}

// token returns the length and the style of what comes first in line.
func (h *Highlighter) token(line string) (int, style.Style) {
	if h.open != "" {
		return h.close(line, 0)
	}
	for _, c := range h.lang.comments {
		if strings.HasPrefix(line, c) {
			return len(line), h.paint.Comment
		}
	}
	for _, s := range h.lang.spans {
		if strings.HasPrefix(line, s.begin) {
			h.open, h.as = s.end, h.paint.String
			if s.comment {
				h.as = h.paint.Comment
			}
			return h.close(line, len(s.begin))
		}
	}
	r, n := utf8.DecodeRuneInString(line)
	switch {
	case strings.ContainsRune(h.lang.quotes, r):
		return quoted(line), h.paint.String
	case unicode.IsDigit(r):
		return run(line, func(r rune) bool { return r == '.' || r == '_' || unicode.IsDigit(r) || unicode.IsLetter(r) }), h.paint.Number
	case isWord(r):
		return h.word(line)
	}
	return n, ""
}

// close ends what is open, if its end is in line.
func (h *Highlighter) close(line string, from int) (int, style.Style) {
	at := strings.Index(line[from:], h.open)
	if at < 0 {
		return len(line), h.as
	}
	n := from + at + len(h.open)
	h.open = ""
	return n, h.as
}

func (h *Highlighter) word(line string) (int, style.Style) {
	n := run(line, isWord)
	word := line[:n]
	if h.lang.fold {
		word = strings.ToLower(word)
	}
	switch {
	case strings.Contains(h.lang.words, " "+word+" "):
		return n, h.paint.Keyword
	case strings.HasPrefix(line[n:], "("):
		return n, h.paint.Function
	}
	return n, ""
}

func (h *Highlighter) diff(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return h.paint.Good.Of(line)
	case strings.HasPrefix(line, "-"):
		return h.paint.Bad.Of(line)
	case strings.HasPrefix(line, "@"):
		return h.paint.Accent.Of(line)
	}
	return line
}

// quoted returns the length of a string in quotes, escapes included.
func quoted(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case line[0]:
			return i + 1
		}
	}
	return len(line)
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// run returns the length of the beginning of line that f holds for, at least one
// character.
func run(line string, f func(rune) bool) int {
	_, first := utf8.DecodeRuneInString(line)
	if n := strings.IndexFunc(line[first:], func(r rune) bool { return !f(r) }); n >= 0 {
		return first + n
	}
	return len(line)
}
