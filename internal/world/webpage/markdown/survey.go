package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// facts are what one walk over a page finds out before anything is written.
type facts struct {
	title  string
	base   string // what links are relative to, if the page says so
	body   *html.Node
	mains  []*html.Node
	arts   []*html.Node
	text   map[*html.Node]int  // letters in the candidates
	frames map[*html.Node]bool // elements around the content
	layout map[*html.Node]bool // tables that hold tables, and so no data
	total  int
}

// walk returns how many letters n has. Tables are those that n stands in.
func (f *facts) walk(n *html.Node, tables []*html.Node) (letters int) {
	if n.Type == html.TextNode {
		return len(strings.TrimSpace(n.Data))
	}
	switch n.DataAtom {
	case atom.Title:
		if f.title == "" && n.Namespace == "" {
			f.title = strings.Join(strings.Fields(textOf(n)), " ")
		}
	case atom.Base:
		if f.base == "" {
			f.base = attr(n, "href")
		}
	case atom.Body:
		f.body = n
	case atom.Table:
		if len(tables) > 0 {
			f.layout[tables[len(tables)-1]] = true
		}
		tables = append(tables[:len(tables):len(tables)], n)
	}
	shown := n.Type != html.ElementNode || !hidden(n)
	framed := shown && isFrame(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		letters += f.walk(c, tables)
	}
	switch {
	case !shown:
		return 0
	case framed:
		f.frames[n] = true
		return 0
	case n.DataAtom == atom.Main || attr(n, "role") == "main":
		f.mains, f.text[n] = append(f.mains, n), letters
	case n.DataAtom == atom.Article:
		f.arts, f.text[n] = append(f.arts, n), letters
	case n == f.body:
		f.total = letters
	}
	return letters
}

// content returns the element that holds what the page is about: what it says is
// its main part, or an article that most of the text stands in.
func (f *facts) content() *html.Node {
	for _, m := range f.mains {
		if f.text[m]*4 >= f.total {
			return m
		}
	}
	for _, a := range f.arts {
		if f.text[a]*2 >= f.total {
			return a
		}
	}
	return f.body
}

// isFrame reports whether an element stands around the content of a page.
func isFrame(n *html.Node) bool {
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "search", "complementary":
		return true
	}
	switch n.DataAtom {
	case atom.Nav, atom.Aside:
		return true
	case atom.Header, atom.Footer:
		// One inside an article or section belongs to it: it may hold the title.
		for p := n.Parent; p != nil; p = p.Parent {
			switch p.DataAtom {
			case atom.Article, atom.Main, atom.Section:
				return false
			}
		}
		return true
	}
	return false
}

// textOf returns the text in n as it stands there.
func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}
