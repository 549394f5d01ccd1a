package tui

import (
	"github.com/haftdev/haft/internal/front/tui/key"
)

// A scroll is a part of a text that is longer than its room, and how much of it has
// been on the screen.
type scroll struct {
	top, room int
	width     int  // of the screen that the text is laid out for
	toEnd     bool // the user went to the end
	lines     int
	seen, all int // lines; all are those that must be seen
}

// long reports whether some of the text is not on the screen.
func (s *scroll) long() bool { return s.lines > s.room }

// read reports whether all of the text has been on the screen.
func (s *scroll) read() bool { return s.all > 0 && s.seen >= s.all }

// window is what of a text has room, with a line that says so if it is not all of it. Its
// first lines, as many as must be, have to be read.
func (s *scroll) window(text []string, must, room int, v view) []string {
	if s.width != v.width { // other lines than those that were seen
		s.width, s.seen = v.width, 0
	}
	s.all, s.lines = must, len(text)
	if len(text) <= room {
		s.top, s.room, s.seen = 0, room, len(text)
		return text
	}
	s.room = room - 1
	if s.room < 1 { // nothing of it can be read here
		return nil
	}
	s.top = max(0, min(s.top, len(text)-s.room))
	end := s.top + s.room
	if s.top <= s.seen || s.toEnd {
		s.seen = max(s.seen, end)
	}
	more := []string{v.t("lines %d–%d of %d", s.top+1, end, len(text)), v.t("page down: more"), v.t("end, /: go to the end, search"), v.t("ctrl+o: all")}
	if s.read() {
		more = []string{more[0], v.t("page up, page down")}
	}
	return append(text[s.top:end:end], v.paint.Warn.Of("  "+footer(v.width-2, more...)))
}

// key scrolls; it reports false for a key that does not.
func (s *scroll) key(k key.Key) bool {
	switch {
	case k.Name == key.PageDown, k == key.Key{Rune: ' '}:
		s.top += max(s.room, 1)
	case k.Name == key.PageUp:
		s.top -= max(s.room, 1)
	case k.Name == key.Home, k == key.Key{Rune: 'g'}:
		s.top = 0
	case k.Name == key.End, k == key.Key{Rune: 'G'}: // who asks for the end has decided what to read, as in the full-screen text
		s.top, s.toEnd = s.lines, true
	default:
		return false
	}
	s.top = max(s.top, 0)
	return true
}
