// Package screen draws at the end of a terminal's own scrollback: lines that are
// finished go up into it and are never touched again, and below them a few live
// lines are drawn anew.
//
//	s := screen.New(out, width, height)
//	s.Draw(finished, live, screen.Cursor{Row: 1, Col: 4})
//
// A frame costs what has changed in the live lines, however long the conversation
// is. It is written in one piece and as a synchronized update, so that no terminal
// shows half of it. The terminal's real cursor stands at the caret, where input
// methods look for it.
//
// Lines may hold colours (SGR sequences) and must not hold anything else that
// moves a cursor; each ends as it began. A Screen belongs to one goroutine.
package screen

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Cursor is where the caret stands, counted from the first live line.
type Cursor struct {
	Row, Col int
	Hidden   bool
}

// A Screen is a terminal that is drawn on.
type Screen struct {
	out           io.Writer
	width, height int

	live    []string // as they are on the terminal
	row     int      // index in live of the line that the cursor is on
	column  int      // of the cursor; -1 if it is not known
	hidden  bool     // the cursor is not shown
	changed int      // rows that a frame draws
	stale   bool     // what is there is not known: draw everything
	buf     bytes.Buffer
}

// New returns a screen whose first line is the one that the cursor is in.
func New(out io.Writer, width, height int) *Screen {
	return &Screen{out: out, width: max(width, 1), height: max(height, 1), stale: true}
}

// Size returns width and height.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

const (
	beginFrame = "\x1b[?2026h"
	hideCursor = "\x1b[?25l"
	endFrame   = "\x1b[?2026l"
	showCursor = "\x1b[?25h"
	eraseLine  = "\x1b[K"
	// eraseBelow erases from the beginning of a line on. Told to erase everything from
	// the first cell, tmux and others push it into the scrollback first, where it would
	// stay: so the first line is erased by itself.
	eraseBelow = "\x1b7" + eraseLine + "\x1b[B\x1b[J\x1b8"
)

// Draw makes above part of the scrollback and shows live below it. Of live lines
// that do not fit the last are shown. It returns how many bytes that took.
func (s *Screen) Draw(above, live []string, at Cursor) (int, error) {
	if cut := len(live) - s.height; cut > 0 {
		live = live[cut:]
		at.Row = max(at.Row-cut, 0)
	}
	rows := make([]string, 0, len(live))
	for _, l := range live {
		rows = append(rows, s.fit(l))
	}
	s.buf.Reset()
	s.changed = 0
	// What goes into the scrollback is always drawn as a whole: a terminal that is just being resized
	// may have moved the rows that are there, and nobody draws those again.
	if s.stale || len(above) > 0 || !s.update(rows) {
		s.buf.Reset()
		s.redraw(above, rows)
	}
	s.row -= len(above)
	s.live = rows
	s.place(at)
	frame := s.buf.Bytes()
	if s.changed > 2 || len(frame) > small { // else it is one step for every terminal
		frame = slices.Concat([]byte(beginFrame), frame, []byte(endFrame))
	}
	if len(frame) == 0 {
		return 0, nil
	}
	return s.out.Write(frame)
}

// small is a frame that no terminal shows half of.
const small = 160

// update changes the rows that are there into others. It reports false if that is not possible.
func (s *Screen) update(rows []string) bool {
	row, column, was := s.row, s.column, s.live
	s.live = slices.Clone(s.live)
	if !s.grow(rows) {
		s.row, s.column, s.live = row, column, was
		return false
	}
	for i, l := range rows {
		s.change(i, l)
	}
	if len(rows) < len(s.live) {
		s.to(len(rows), 0)
		s.buf.WriteString(eraseBelow)
		s.changed += len(s.live) - len(rows)
	}
	return true
}

// redraw draws everything anew.
func (s *Screen) redraw(above, live []string) {
	s.changed = len(above) + len(live)
	s.top()
	s.buf.WriteString(eraseBelow)
	s.live, s.stale = nil, false
	for _, l := range above {
		s.buf.WriteString(l)
		s.buf.WriteString("\r\n")
	}
	for i, l := range live {
		if i > 0 {
			s.buf.WriteString("\r\n")
		}
		s.buf.WriteString(l)
	}
	s.row, s.column = len(above)+max(len(live)-1, 0), -1
}

// fit makes a line one row.
func (s *Screen) fit(l string) string {
	if len(l) <= s.width || ansi.StringWidth(l) <= s.width {
		return l
	}
	return ansi.Truncate(l, s.width, "…")
}

// top goes to the beginning of the first live line.
func (s *Screen) top() {
	s.buf.WriteByte('\r')
	s.csi(s.row, 'A')
	s.row, s.column = 0, 0
}

func (s *Screen) place(at Cursor) {
	if at.Hidden != s.hidden {
		s.buf.WriteString(map[bool]string{true: hideCursor, false: showCursor}[at.Hidden])
		s.hidden = at.Hidden
	}
	if at.Hidden {
		s.to(max(s.row, 0), -1)
		return
	}
	s.to(min(at.Row, max(len(s.live)-1, 0)), min(at.Col, s.width-1))
}

func (s *Screen) csi(n int, final byte) {
	if n > 0 {
		s.buf.WriteString("\x1b[")
		s.buf.WriteString(strconv.Itoa(n))
		s.buf.WriteByte(final)
	}
}

// Resize takes in a new size. Terminals break lines again that are too long for
// the new width, so the live lines may take more rows than before.
func (s *Screen) Resize(width, height int) {
	width, height = max(width, 1), max(height, 1)
	if width < s.width {
		rows := 0
		for _, l := range s.live[:min(s.row, len(s.live))] {
			rows += max(1, (ansi.StringWidth(l)+width-1)/width)
		}
		s.row = rows
	}
	s.row = min(s.row, height-1)
	s.width, s.height, s.column, s.stale = width, height, -1, true
}

// Forget says that something else has written to the terminal: the next frame
// begins where the cursor is.
func (s *Screen) Forget() { s.live, s.row, s.column, s.stale = nil, 0, -1, true }

// Leave takes the live lines away, so that whatever comes next begins in their
// place.
func (s *Screen) Leave() error {
	s.buf.Reset()
	s.top()
	s.buf.WriteString(eraseBelow + showCursor)
	s.live, s.stale, s.hidden = nil, true, false
	_, err := s.out.Write(s.buf.Bytes())
	return err
}

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
