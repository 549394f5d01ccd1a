// Package markdown reads an HTML page as Markdown.
//
//	page, err := markdown.Read(source, &markdown.Options{Base: address})
//
// The text is made for a reader and not for a renderer: it has the structure of
// the page (headings, lists, tables, code, links) and leaves characters of the
// text as they are, so that *args stays *args. What people do not see is left out:
// scripts, styles, hidden elements, and the frame around the content such as
// navigation and footers.
//
// Trust: the page is whatever a stranger wrote. Time and memory are linear in its
// size, nesting is bounded by the parser and indentation by this package, and the
// text ends at Options.Most. What the text says is still the stranger's.
//
// Read is a pure function and safe for concurrent use.
package markdown
