package markdown

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
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

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil && !w.full; c = c.NextSibling {
		w.node(c)
	}
}

func (w *writer) node(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		w.text(n.Data)
	case n.Type == html.ElementNode && n.Data == "math":
		w.formula(n)
	case n.Type == html.ElementNode && !hidden(n) && !w.skip[n]:
		w.element(n)
	}
}

// element writes one element in the way of its kind.
func (w *writer) element(n *html.Node) {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(n)
	case atom.A:
		w.link(n)
	case atom.Img:
		w.image(n)
	case atom.Strong, atom.B:
		w.mark("**", n)
	case atom.Em, atom.I:
		w.mark("*", n)
	case atom.Del, atom.S, atom.Strike:
		w.mark("~~", n)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		w.code(n)
	case atom.Br:
		w.lineBreak()
	case atom.Hr:
		w.block(2)
		if w.inline == 0 {
			w.write("---")
		}
		w.block(2)
	case atom.Pre:
		w.preformatted(n)
	case atom.Blockquote:
		w.within("> ", 2, n)
	case atom.Dt:
		w.block(2)
		w.children(n)
		w.block(1)
	case atom.Dd:
		w.within("  ", 1, n)
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		w.list(n)
	case atom.Table:
		w.table(n)
	default:
		w.plain(n)
	}
}

func (w *writer) plain(n *html.Node) {
	lines := breaks[n.DataAtom]
	switch {
	case lines > 0:
		w.block(lines)
		defer w.block(lines)
	case n.DataAtom == atom.Td, n.DataAtom == atom.Th:
		w.space = w.out.Len() > 0
	}
	w.children(n)
}

func (w *writer) heading(n *html.Node) {
	w.block(2)
	if w.inline > 0 {
		w.children(n)
		w.block(2)
		return
	}
	level, _ := strconv.Atoi(n.Data[1:])
	w.whole(strings.Repeat("#", level)+" ", "", n)
	w.block(2)
}

// whole writes the children of n on one line between two marks, or nothing if
// there is nothing to write. It reports whether there was.
func (w *writer) whole(before, after string, n *html.Node) bool {
	lines, space, fresh, length := w.lines, w.space, w.fresh, w.out.Len()
	w.inline++
	w.write(before)
	begin := w.out.Len()
	w.space = false
	w.fresh = true // no space after the mark
	w.children(n)
	w.inline--
	if w.out.Len() == begin && !w.full {
		w.out.Truncate(length)
		w.lines, w.space, w.fresh = lines, space || w.space, fresh
		return false
	}
	trailing := w.space
	w.space, w.fresh = false, false
	if after != "" {
		w.raw(after)
	}
	w.space = trailing
	return true
}

func (w *writer) mark(mark string, n *html.Node) { w.whole(mark, mark, n) }

func (w *writer) link(n *html.Node) {
	to := w.address(attr(n, "href"))
	if to == "" {
		w.children(n)
		return
	}
	w.whole("[", "]("+to+")", n)
}

func (w *writer) image(n *html.Node) {
	alt := strings.Join(strings.Fields(attr(n, "alt")), " ")
	if alt == "" {
		return // decoration, or nothing that a reader of text could use
	}
	if to := w.address(attr(n, "src")); to != "" && w.inline == 0 {
		w.write("![" + alt + "](" + to + ")")
		return
	}
	w.write("[image: " + alt + "]")
}

// formula writes mathematics as the TeX that pages carry for readers without MathML.
func (w *writer) formula(n *html.Node) {
	tex := attr(n, "alttext")
	for c := range n.Descendants() {
		if tex == "" && c.Data == "annotation" && attr(c, "encoding") == "application/x-tex" {
			tex = textOf(c)
		}
	}
	if tex = strings.Join(strings.Fields(tex), " "); tex != "" {
		w.write("$" + tex + "$")
		return
	}
	w.text(textOf(n))
}

// code writes code inside a line, between more backticks than stand in it.
func (w *writer) code(n *html.Node) {
	text := strings.Join(strings.Fields(textOf(n)), " ")
	if text == "" {
		return
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	w.write(fence + text + fence)
}

func (w *writer) lineBreak() {
	switch {
	case w.cell:
		w.write("<br>")
	case w.inline > 0:
		w.space = true
	case !w.fresh:
		w.owe(1)
	}
}

func (w *writer) preformatted(n *html.Node) {
	text := strings.Trim(textOf(n), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if w.inline > 0 {
		w.code(n)
		return
	}
	var lang string
	for _, marked := range []*html.Node{n, n.FirstChild, n.Parent} {
		if marked != nil && lang == "" {
			if m := language.FindStringSubmatch(attr(marked, "class")); m != nil {
				lang = m[1]
			}
		}
	}
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	w.block(2)
	w.write(fence + lang)
	w.raw("\n" + w.prefix())
	w.verbatim(text)
	w.raw("\n" + w.prefix() + fence)
	w.block(2)
}

// verbatim writes text line by line as it is.
func (w *writer) verbatim(s string) {
	for i, line := range strings.Split(s, "\n") {
		switch {
		case i > 0 && line == "":
			w.raw("\n" + emptyLine(w.prefixes))
		case i > 0:
			w.raw("\n" + w.prefix())
		}
		w.raw(strings.TrimSuffix(line, "\r"))
		if w.full {
			return
		}
	}
}

// within writes the children of n as blocks with a prefix on each line, and so
// many line breaks around them.
func (w *writer) within(prefix string, lines int, n *html.Node) {
	w.block(lines)
	pop := func() {}
	if w.inline == 0 {
		pop = w.push(prefix)
	}
	w.children(n)
	pop()
	w.block(lines)
}

func (w *writer) list(n *html.Node) {
	if w.inline > 0 {
		w.plain(n)
		return
	}
	nested := n.Parent != nil && n.Parent.DataAtom == atom.Li
	around := 2
	if nested {
		around = 1
	}
	w.fresh = false
	w.block(around)
	number := 1
	if start, err := strconv.Atoi(attr(n, "start")); err == nil {
		number = start
	}
	for c := n.FirstChild; c != nil && !w.full; c = c.NextSibling {
		if c.DataAtom != atom.Li {
			w.node(c)
			continue
		}
		marker := "- "
		if n.DataAtom == atom.Ol {
			marker = fmt.Sprintf("%d. ", number)
			number++
		}
		w.item(marker, c)
	}
	w.block(around)
}

func (w *writer) item(marker string, n *html.Node) {
	if hidden(n) || w.skip[n] {
		return
	}
	w.fresh = false
	w.block(1)
	length := w.out.Len()
	lines := w.lines
	w.write(marker)
	begin := w.out.Len()
	w.fresh = true
	pop := w.push(strings.Repeat(" ", len(marker)))
	w.children(n)
	pop()
	if w.out.Len() == begin && !w.full {
		w.out.Truncate(length)
		w.lines = lines
	}
	w.fresh = false
	w.block(1)
}

// table writes a table of data. One that holds another, or has one column, only
// arranges the page and is written as what it holds.
func (w *writer) table(n *html.Node) {
	rows, caption := rowsOf(n)
	width := 0
	for _, r := range rows {
		width = max(width, len(cellsOf(r)))
	}
	if w.facts.layout[n] || width < 2 || w.inline > 0 {
		w.plain(n)
		w.block(2)
		return
	}
	w.block(2)
	if caption != nil {
		w.children(caption)
		w.block(2)
	}
	for i, r := range rows {
		w.row(r)
		if i == 0 {
			w.block(1)
			w.write(strings.TrimSpace(strings.Repeat("| --- ", width)) + " |")
		}
	}
	w.block(2)
}

func (w *writer) row(n *html.Node) {
	w.block(1)
	w.write("|")
	w.inline++
	for _, c := range cellsOf(n) {
		w.raw(" ")
		w.space, w.fresh = false, true
		w.cell = true
		w.children(c)
		w.cell = false
		w.space, w.fresh = false, false
		w.raw(" |")
		if span, err := strconv.Atoi(attr(c, "colspan")); err == nil && span > 1 {
			w.raw(strings.Repeat("  |", min(span, maxSpan)-1))
		}
	}
	w.inline--
}
