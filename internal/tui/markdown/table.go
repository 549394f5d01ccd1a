package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/tui/style"
)

// layTable lays the rows of a table out in columns. Cells that do not fit are
// wrapped; a table that cannot be made to fit is shown as it was written.
func (s *Stream) layTable(rows []string) []string {
	var cells [][][]span
	columns, header := 0, false
	var aligned []alignment
	for i, r := range rows {
		parts := splitRow(r)
		if i == 1 && isDelimiter(parts) {
			header, aligned = true, alignments(parts)
			continue
		}
		var row [][]span
		for _, p := range parts {
			base := style.Style("")
			if i == 0 {
				base = s.paint.Bold
			}
			row = append(row, inline([]string{p}, s.paint, base))
		}
		cells = append(cells, row)
		columns = max(columns, len(row))
	}
	widths := s.columns(cells, columns)
	if !header || widths == nil {
		return rows
	}
	var lines []string
	for i, row := range cells {
		lines = append(lines, layRow(row, widths, aligned, s.paint)...)
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			lines = append(lines, s.paint.Dim.Of(strings.Join(rule, "─┼─")))
		}
	}
	return lines
}

// columns returns how wide each column becomes, or nil if they do not fit.
func (s *Stream) columns(cells [][][]span, n int) []int {
	widths := make([]int, n)
	total := 3 * (n - 1)
	for _, row := range cells {
		for i, c := range row {
			widths[i] = max(widths[i], spansWidth(c))
		}
	}
	for _, w := range widths {
		total += w
	}
	for total > s.width { // the widest gives way
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= 8 {
			return nil
		}
		widths[widest]--
		total--
	}
	return widths
}

// layRow returns the lines of a row.
func layRow(row [][]span, widths []int, aligned []alignment, p style.Palette) []string {
	columns := make([][]string, len(widths))
	height := 1
	for i := range widths {
		if i < len(row) {
			columns[i] = wrap(row[i], widths[i], "", "")
		}
		height = max(height, len(columns[i]))
	}
	lines := make([]string, height)
	for y := range lines {
		for i, w := range widths {
			cell := ""
			if y < len(columns[i]) {
				cell = columns[i][y]
			}
			if i > 0 {
				lines[y] += p.Dim.Of(" │ ")
			}
			before, after := 0, max(0, w-ansi.StringWidth(cell))
			if i < len(aligned) {
				before = aligned[i].before(after)
			}
			lines[y] += strings.Repeat(" ", before) + cell
			if i < len(widths)-1 {
				lines[y] += strings.Repeat(" ", after-before)
			}
		}
	}
	return lines
}

// An alignment is where the text of a column's cells stands.
type alignment string

// alignments reads the row under a table's head.
func alignments(parts []string) []alignment {
	var list []alignment
	for _, p := range parts {
		var a alignment
		switch left, right := strings.HasPrefix(p, ":"), strings.HasSuffix(p, ":"); {
		case left && right:
			a = "center"
		case right:
			a = "right"
		}
		list = append(list, a)
	}
	return list
}

// before is how much of the room that is left goes before the text.
func (a alignment) before(room int) int {
	switch a {
	case "center":
		return room / 2
	case "right":
		return room
	}
	return 0
}

func spansWidth(spans []span) (n int) {
	for _, s := range spans {
		n += ansi.StringWidth(s.text)
	}
	return n
}

func splitRow(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	row = strings.ReplaceAll(row, `\|`, "\x00")
	parts := strings.Split(row, "|")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(strings.ReplaceAll(p, "\x00", "|"))
	}
	return parts
}

func isDelimiter(parts []string) bool {
	for _, p := range parts {
		if p == "" || strings.Trim(p, ":-") != "" {
			return false
		}
	}
	return true
}
