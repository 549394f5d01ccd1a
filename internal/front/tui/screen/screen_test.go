package screen_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/tui/screen"
)

// contents are the lines of the scrollback and the screen.
func contents(term *vt.Emulator) []string {
	var lines []string
	for y := range term.ScrollbackLen() {
		var l strings.Builder
		for x := range term.Width() {
			if c := term.ScrollbackCellAt(x, y); c != nil {
				l.WriteString(c.Content)
			}
		}
		lines = append(lines, strings.TrimRight(l.String(), " "))
	}
	for y := range term.Height() {
		var l strings.Builder
		for x := range term.Width() {
			if c := term.CellAt(x, y); c != nil {
				l.WriteString(c.Content)
			}
		}
		lines = append(lines, strings.TrimRight(l.String(), " "))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// TestFramesAddUp draws random frames on an emulated terminal: whatever was drawn
// before, the terminal has all finished lines in order, the live lines below them,
// and its cursor at the caret.
func TestFramesAddUp(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		width, height := 20, 4+r.IntN(8)
		term := vt.NewEmulator(width, height)
		s := screen.New(term, width, height)
		var all []string
		for frame := range 40 {
			var above, live []string
			for range r.IntN(4) * r.IntN(2) {
				above = append(above, fmt.Sprintf("done %d %d", frame, len(all)+len(above)))
			}
			for i := range 1 + r.IntN(height) {
				live = append(live, fmt.Sprintf("live %d %d", i, r.IntN(3)))
			}
			at := screen.Cursor{Row: r.IntN(len(live)), Col: r.IntN(5)}
			if _, err := s.Draw(above, live, at); err != nil {
				t.Fatal(err)
			}
			all = append(all, above...)
			if d := cmp.Diff(append(append([]string(nil), all...), live...), contents(term)); d != "" {
				t.Fatalf("seed %d, frame %d (-want +got):\n%s", seed, frame, d)
			}
			top := len(all) - term.ScrollbackLen()
			if got := term.CursorPosition(); got.X != at.Col || got.Y != top+at.Row {
				t.Fatalf("seed %d, frame %d: the cursor is at %v, want %d, %d", seed, frame, got, at.Col, top+at.Row)
			}
		}
	}
}

func TestWhatDidNotChangeIsNotWritten(t *testing.T) {
	var out bytes.Buffer
	s := screen.New(&out, 80, 24)
	live := []string{strings.Repeat("a", 60), strings.Repeat("b", 60), "› c"}
	s.Draw(nil, live, screen.Cursor{Row: 2, Col: 3})
	n, _ := s.Draw(nil, append(live[:2:2], "› cd"), screen.Cursor{Row: 2, Col: 4})
	if n > 60 {
		t.Errorf("%d bytes for one character", n)
	}
	out.Reset()
	s.Draw([]string{"x"}, live, screen.Cursor{})
	if got := out.String(); !strings.HasPrefix(got, "\x1b[?2026h") || !strings.HasSuffix(got, "\x1b[?2026l") {
		t.Errorf("no synchronized update: %q", got)
	}
}

func TestLinesThatAreTooLongAreCut(t *testing.T) {
	term := vt.NewEmulator(10, 3)
	screen.New(term, 10, 3).Draw(nil, []string{"012345678901234", "漢字漢字漢字", "z"}, screen.Cursor{})
	if d := cmp.Diff([]string{"012345678…", "漢字漢字…", "z"}, contents(term)); d != "" {
		t.Error(d)
	}
}

func TestMoreThanFitsShowsTheEnd(t *testing.T) {
	term := vt.NewEmulator(10, 2)
	screen.New(term, 10, 2).Draw(nil, []string{"a", "b", "c"}, screen.Cursor{Row: 2})
	if d := cmp.Diff([]string{"b", "c"}, contents(term)); d != "" {
		t.Error(d)
	}
}
