package markdown

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxSpan bounds the empty cells that a wide cell makes.
const maxSpan = 20

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
