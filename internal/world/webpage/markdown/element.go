package markdown

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

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

// breaks are the elements that begin and end a line, and how many line breaks
// stand around them.
var breaks = map[atom.Atom]int{
	atom.P: 2, atom.Div: 2, atom.Section: 2, atom.Article: 2, atom.Main: 2, atom.Header: 2, atom.Footer: 2, atom.Nav: 2, atom.Aside: 2, atom.Figure: 2,
	atom.Figcaption: 2, atom.Dl: 2, atom.Form: 2, atom.Fieldset: 2, atom.Legend: 2, atom.Details: 2, atom.Summary: 2, atom.Address: 2,
	atom.Center: 2, atom.Noscript: 2, atom.Caption: 2, atom.Tr: 1, atom.Li: 1, atom.Thead: 1, atom.Tbody: 1, atom.Body: 2,
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

func longestRun(s string) (longest int) {
	run := 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
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

// language is how pages mark the language of their code.
var language = lazyregexp.New(`(?:^|\s)(?:language-|lang-|highlight-source-|brush:\s*)([A-Za-z0-9_+#-]+)`)

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
