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

	live  []string // as they are on the terminal
	row   int      // where its cursor is among them
	stale bool     // what is there is not known: draw everything
	buf   bytes.Buffer
}

// New returns a screen whose first line is the one that the cursor is in.
func New(out io.Writer, width, height int) *Screen {
	return &Screen{out: out, width: max(width, 1), height: max(height, 1), stale: true}
}

// Size returns width and height.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

const (
	beginFrame = "\x1b[?2026h\x1b[?25l"
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
	fitted := make([]string, len(live))
	for i, l := range live {
		fitted[i] = s.fit(l)
	}
	if len(above) == 0 && !s.stale && slices.Equal(fitted, s.live) {
		return s.caret(at)
	}
	s.buf.Reset()
	s.buf.WriteString(beginFrame)
	if len(above) > 0 || s.stale {
		s.top()
		s.buf.WriteString(eraseBelow)
		s.live, s.stale = nil, false
		for _, l := range above {
			s.buf.WriteString(l)
			s.buf.WriteString("\r\n")
		}
	}
	s.draw(fitted)
	s.place(at)
	s.buf.WriteString(endFrame)
	return s.out.Write(s.buf.Bytes())
}

// caret moves only the cursor.
func (s *Screen) caret(at Cursor) (int, error) {
	s.buf.Reset()
	s.place(at)
	return s.out.Write(s.buf.Bytes())
}

// fit makes a line one row.
func (s *Screen) fit(l string) string {
	if len(l) <= s.width || ansi.StringWidth(l) <= s.width {
		return l
	}
	return ansi.Truncate(l, s.width, "…")
}

// draw writes the lines that differ from what is there.
func (s *Screen) draw(live []string) {
	for i, l := range live {
		if i < len(s.live) && s.live[i] == l {
			continue
		}
		s.move(i)
		s.buf.WriteString(l)
		if ansi.StringWidth(l) < s.width {
			s.buf.WriteString(eraseLine)
		}
	}
	if len(live) < len(s.live) {
		s.move(len(live))
		s.buf.WriteString(eraseBelow)
	}
	s.live = live
}

// move goes to the beginning of a live line. Lines that were never drawn are made
// by line feeds, which scroll if they have to.
func (s *Screen) move(row int) {
	s.buf.WriteByte('\r')
	switch known := max(len(s.live)-1, s.row); {
	case row < s.row:
		s.csi(s.row-row, 'A')
	case row <= known:
		s.csi(row-s.row, 'B')
	default:
		s.csi(known-s.row, 'B')
		for range row - known {
			s.buf.WriteByte('\n')
		}
	}
	s.row = row
}

// top goes to the beginning of the first live line.
func (s *Screen) top() {
	s.buf.WriteByte('\r')
	s.csi(s.row, 'A')
	s.row = 0
}

func (s *Screen) place(at Cursor) {
	if at.Hidden {
		return
	}
	s.move(min(at.Row, max(len(s.live)-1, 0)))
	s.csi(min(at.Col, s.width-1), 'C')
	s.buf.WriteString(showCursor)
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
	s.width, s.height, s.stale = width, height, true
}

// Forget says that something else has written to the terminal: the next frame
// begins where the cursor is.
func (s *Screen) Forget() { s.live, s.row, s.stale = nil, 0, true }

// Leave takes the live lines away, so that whatever comes next begins in their
// place.
func (s *Screen) Leave() error {
	s.buf.Reset()
	s.top()
	s.buf.WriteString(eraseBelow + showCursor)
	s.live, s.stale = nil, true
	_, err := s.out.Write(s.buf.Bytes())
	return err
}
