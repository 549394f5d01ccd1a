package markdown

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Options say how a page is read. A nil *Options means all zero values.
type Options struct {
	// Base is the address of the page, which its links are relative to; nil
	// leaves links as they are.
	Base *url.URL
	// Most is how many bytes of text are made; 0 means 10 MB.
	Most int
}

const defaultMost = 10 << 20

// A Page is what was read.
type Page struct {
	Title string
	Text  string
	Cut   bool // the text ends before the page does
}

// Read returns the content of a page. Its source is UTF-8. An error means that it
// cannot be parsed, as when it is nested too deeply.
func Read(source string, opts *Options) (Page, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Most == 0 {
		o.Most = defaultMost
	}
	// Without scripting, what stands in noscript is content as for any reader.
	doc, err := html.ParseWithOptions(strings.NewReader(source), html.ParseOptionEnableScripting(false))
	if err != nil {
		return Page{}, fmt.Errorf("parse HTML: %w", err)
	}
	found := survey(doc)
	w := &writer{base: o.Base, most: o.Most, facts: found}
	if found.base != "" && o.Base != nil {
		if u, err := o.Base.Parse(found.base); err == nil {
			w.base = u
		}
	}
	w.skip = found.frames
	w.children(found.content())
	if w.out.Len() == 0 && len(found.frames) > 0 {
		w.skip = nil // the page is nothing but its frame
		w.children(doc)
	}
	return Page{Title: found.title, Text: strings.TrimSpace(w.out.String()), Cut: w.full}, nil
}

// survey walks the page once.
func survey(doc *html.Node) *facts {
	f := &facts{body: doc, text: make(map[*html.Node]int), frames: make(map[*html.Node]bool), layout: make(map[*html.Node]bool)}
	f.walk(doc, nil)
	return f
}

// invisible elements hold nothing that a reader sees.
var invisible = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Head: true, atom.Svg: true, atom.Canvas: true, atom.Object: true, atom.Embed: true,
	atom.Audio: true, atom.Video: true, atom.Iframe: true, atom.Select: true, atom.Datalist: true, atom.Textarea: true, atom.Input: true, atom.Button: true,
	atom.Area: true, atom.Map: true, atom.Dialog: true, atom.Link: true, atom.Meta: true,
}

// hidden reports whether an element is not shown.
func hidden(n *html.Node) bool {
	if invisible[n.DataAtom] {
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "style":
			s := strings.ToLower(strings.ReplaceAll(a.Val, " ", ""))
			if strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
