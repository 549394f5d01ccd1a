package markdown

import (
	"bytes"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// A writer puts the text together. Space between blocks and words is owed until
// something follows it, so that there is never too much of it.
type writer struct {
	out   bytes.Buffer
	base  *url.URL
	most  int
	full  bool // most is reached; nothing more is written
	facts *facts
	skip  map[*html.Node]bool

	prefixes []string // of each line: those of quotes and lists
	lines    int      // line breaks owed
	depth    int      // how many of the prefixes an empty line among them has
	space    bool     // a space is owed
	inline   int      // how many elements we are in that must stay on one line
	cell     bool     // we are in a cell of a table
	fresh    bool     // the line holds nothing but its prefix and a list marker
}

// maxPrefixes bounds indentation: what is nested deeper is not indented more.
const maxPrefixes = 12

// block ends the paragraph: what follows stands after n line breaks.
func (w *writer) block(n int) {
	switch {
	case w.inline > 0:
		w.space = true
	case w.fresh:
	default:
		w.owe(n)
	}
}

// owe asks for n line breaks before whatever follows. An empty line belongs to the
// outermost of the quotes and lists that end or begin there.
func (w *writer) owe(n int) {
	if w.lines == 0 {
		w.depth = len(w.prefixes)
	}
	w.depth = min(w.depth, len(w.prefixes))
	w.lines, w.space = max(w.lines, n), false
}

// settle writes what is owed before something is written.
func (w *writer) settle() {
	switch {
	case w.lines > 0 && w.out.Len() > 0:
		for range w.lines - 1 {
			w.out.WriteString("\n" + emptyLine(w.prefixes[:min(w.depth, len(w.prefixes))]))
		}
		w.out.WriteString("\n" + w.prefix())
	case w.out.Len() == 0:
		w.out.WriteString(w.prefix())
	case w.space && !w.fresh:
		w.out.WriteByte(' ')
	}
	w.lines, w.space, w.fresh = 0, false, false
}

// prefix is what a line begins with.
func (w *writer) prefix() string { return strings.Join(w.prefixes, "") }

// emptyLine is the prefix of a line that holds nothing, without spaces at its end.
func emptyLine(prefixes []string) string { return strings.TrimRight(strings.Join(prefixes, ""), " ") }

// write writes text that holds no line break.
func (w *writer) write(s string) {
	if s == "" || w.full {
		return
	}
	w.settle()
	if w.cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	w.raw(s)
}

func (w *writer) raw(s string) {
	if room := w.most - w.out.Len(); len(s) > room {
		w.full = true
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s = s[:max(room, 0)]
	}
	w.out.WriteString(s)
}

// text writes words, with one space where there was any.
func (w *writer) text(s string) {
	for i, word := range strings.FieldsFunc(s, isSpace) {
		if i > 0 || isSpace(rune(s[0])) {
			w.space = w.space || w.out.Len() > 0
		}
		w.write(word)
	}
	if last, _ := utf8.DecodeLastRuneInString(s); s != "" && isSpace(last) {
		w.space = w.out.Len() > 0
	}
}

// isSpace reports whether a character is white space that HTML folds.
func isSpace(r rune) bool { return r < utf8.RuneSelf && unicode.IsSpace(r) }

// push adds a prefix to the lines that follow. The returned function takes it away.
func (w *writer) push(prefix string) (pop func()) {
	if len(w.prefixes) >= maxPrefixes {
		return func() {}
	}
	n := len(w.prefixes)
	w.prefixes = append(w.prefixes, prefix)
	return func() { w.prefixes = w.prefixes[:n] }
}

// address returns a link as it can be followed; "" for what cannot.
func (w *writer) address(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || strings.HasPrefix(ref, "#") {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	if w.base != nil {
		u = w.base.ResolveReference(u)
	}
	switch u.Scheme {
	case "http", "https", "":
	case "mailto":
		return ref
	default:
		return "" // javascript:, data: and the like
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "\n", "").Replace(u.String())
}
