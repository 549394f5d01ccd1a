package screen

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A cell is a character of a row, how wide it is, and what it is drawn in: the sequences that set
// its colours and its link.
type cell struct {
	text  string
	width int
	pen   string
}

// cellsOf takes a line apart. It reports false for a line with characters in whose width terminals
// differ: such a line is drawn as a whole.
func cellsOf(line string) (cells []cell, ok bool) {
	var colours, link string
	var state byte
	for len(line) > 0 {
		seq, width, n, next := ansi.DecodeSequence(line, state, nil)
		line, state = line[n:], next
		switch {
		case width > 0:
			r, size := utf8.DecodeRuneInString(seq)
			if size != len(seq) || r >= 0x1f000 || r == utf8.RuneError {
				return nil, false
			}
			cells = append(cells, cell{seq, width, colours + link})
		case seq == "\x1b[0m" || seq == "\x1b[m":
			colours = ""
		case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m"):
			colours += seq
		case seq == closeLink:
			link = ""
		case strings.HasPrefix(seq, "\x1b]8;"):
			link = seq
		default:
			return nil, false
		}
	}
	return cells, true
}

// closeLink ends a link.
const closeLink = "\x1b]8;;\x1b\\"

// patch draws the part of a row that differs from what is there.
func (s *Screen) patch(row int, was, is string) {
	old, ok := cellsOf(was)
	cells, fine := cellsOf(is)
	if !ok || !fine {
		s.to(row, 0)
		s.buf.WriteString(is)
		s.column = -1 // where terminals differ
		if ansi.StringWidth(is) < s.width {
			s.buf.WriteString(eraseLine)
		}
		return
	}
	same := 0
	for same < len(old) && same < len(cells) && old[same] == cells[same] {
		same++
	}
	before := widthOf(cells[:same])
	rest, wasRest := cells[same:], old[same:]
	for len(rest) > 0 && len(wasRest) > 0 && widthOf(rest) == widthOf(wasRest) && rest[len(rest)-1] == wasRest[len(wasRest)-1] {
		rest, wasRest = rest[:len(rest)-1], wasRest[:len(wasRest)-1]
	}
	if len(rest) > 0 || len(wasRest) > 0 {
		s.to(row, before)
	}
	pen := ""
	for _, c := range rest {
		if c.pen != pen {
			s.lift(pen)
			s.buf.WriteString(c.pen)
			pen = c.pen
		}
		s.buf.WriteString(c.text)
	}
	s.lift(pen)
	if s.column += widthOf(rest); s.column >= s.width {
		s.column = -1 // behind the last column, where terminals differ
	}
	if widthOf(rest) < widthOf(wasRest) {
		s.buf.WriteString(eraseLine)
	}
}

// lift ends what is drawn in a pen.
func (s *Screen) lift(pen string) {
	if pen == "" {
		return
	}
	if strings.Contains(pen, "\x1b[") {
		s.buf.WriteString("\x1b[0m")
	}
	if strings.Contains(pen, "\x1b]8;") {
		s.buf.WriteString(closeLink)
	}
}

func widthOf(cells []cell) (n int) {
	for _, c := range cells {
		n += c.width
	}
	return n
}

// commonEnd is how many lines are the same at the end of both.
func commonEnd(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// grow makes the rows on the terminal as many as there will be, by inserting some before those at
// the end that stay as they are. It reports false if that is not possible: what scrolls off must
// be drawn before. Rows are not deleted: some terminals would put them into the scrollback.
func (s *Screen) grow(rows []string) bool {
	more := len(rows) - len(s.live)
	if more <= 0 {
		return true
	}
	end := commonEnd(s.live, rows)
	keep := len(s.live) - end
	if end+more > s.height || len(s.live) == 0 {
		return false
	}
	for i, l := range rows[:keep] { // it may scroll off
		s.change(i, l)
	}
	s.to(len(s.live)-1, -1)
	s.buf.WriteString(strings.Repeat("\n", more))
	s.row += more
	if end > 0 {
		s.to(keep, -1)
		s.csi(more, 'L')
		s.column = -1 // terminals differ in where that leaves the cursor
	}
	s.live = slices.Insert(s.live, keep, make([]string, more)...)
	return true
}

// change draws a row if it differs from what is there.
func (s *Screen) change(row int, is string) {
	if was := s.live[row]; was != is {
		s.patch(row, was, is)
		s.live[row] = is
		s.changed++
	}
}

// to goes to a place on the screen; column -1 is any.
func (s *Screen) to(row, column int) {
	switch {
	case row < s.row:
		s.csi(s.row-row, 'A')
	case row > s.row:
		s.csi(row-s.row, 'B')
	}
	s.row = row
	switch {
	case column < 0 || column == s.column:
	case column == 0:
		s.buf.WriteByte('\r')
		s.column = 0
	default:
		s.csi(column+1, 'G')
		s.column = column
	}
}
