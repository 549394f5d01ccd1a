package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxSpan bounds the empty cells that a wide cell makes.
const maxSpan = 20

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

// rowsOf returns the rows of a table, whichever part of it they stand in.
func rowsOf(table *html.Node) (rows []*html.Node, caption *html.Node) {
	for part := table.FirstChild; part != nil; part = part.NextSibling {
		switch part.DataAtom {
		case atom.Caption:
			caption = part
		case atom.Tr:
			rows = append(rows, part)
		case atom.Thead, atom.Tbody, atom.Tfoot:
			for r := part.FirstChild; r != nil; r = r.NextSibling {
				if r.DataAtom == atom.Tr && !hidden(r) {
					rows = append(rows, r)
				}
			}
		}
	}
	return rows, caption
}

func cellsOf(row *html.Node) (cells []*html.Node) {
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if (c.DataAtom == atom.Td || c.DataAtom == atom.Th) && !hidden(c) {
			cells = append(cells, c)
		}
	}
	return cells
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
