package screen_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
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

// TestRowsLookLikeNewOnes draws random frames in colours, with links, wide and joined characters,
// on one terminal by what changes and on another anew: every cell is the same.
func TestRowsLookLikeNewOnes(t *testing.T) {
	parts := []string{"one ", "two", "\x1b[31mred\x1b[0m", "\x1b[1m\x1b[36mbold\x1b[0m", "漢字", "é", "👩‍💻", "🙂", "\x1b[31mred\x1b[0m and more", "·", "◐", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "   ", "\x1b[48;5;22m+\x1b[0m\x1b[48;5;22m x\x1b[0m"}
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		width, height := 24, 4+r.IntN(8)
		term := vt.NewEmulator(width, height)
		s := screen.New(term, width, height)
		line := func() string {
			var b strings.Builder
			for range r.IntN(5) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			return ansi.Truncate(b.String(), width, "…")
		}
		live := []string{"", "", "foot"}
		var all []string
		for frame := range 40 {
			var above []string
			switch r.IntN(6) {
			case 0: // the first line is finished
				above, live = live[:1], slices.Clone(live[1:])
			case 1:
				live = slices.Insert(slices.Clone(live), r.IntN(len(live)), line())
			case 2:
				if len(live) > 2 {
					at := r.IntN(len(live) - 1)
					live = slices.Delete(slices.Clone(live), at, at+1)
				}
			default:
				live = slices.Clone(live)
				live[r.IntN(len(live))] = line()
			}
			if len(live) == 0 {
				live = []string{line()}
			}
			live = live[max(len(live)-height, 0):]
			at := screen.Cursor{Row: r.IntN(len(live)), Col: r.IntN(width), Hidden: r.IntN(3) == 0}
			if _, err := s.Draw(above, live, at); err != nil {
				t.Fatal(err)
			}
			all = append(all, above...)
			anew := vt.NewEmulator(width, height)
			screen.New(anew, width, height).Draw(all, live, at)
			down := term.ScrollbackLen() - anew.ScrollbackLen() // more has scrolled off if there were more live lines before
			if down < 0 {
				t.Fatalf("seed %d, frame %d: %d lines are missing", seed, frame, -down)
			}
			for y := range height - down {
				for x := range width {
					if got, want := term.CellAt(x, y), anew.CellAt(x, y+down); !got.Equal(want) {
						t.Fatalf("seed %d, frame %d: the cell at %d, %d is %+v, want %+v", seed, frame, x, y, got, want)
					}
				}
			}
			for y := height - down; y < height; y++ {
				for x := range width {
					if got := term.CellAt(x, y); strings.TrimSpace(got.Content) != "" {
						t.Fatalf("seed %d, frame %d: %q is left at %d, %d", seed, frame, got.Content, x, y)
					}
				}
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
	if n > 1 {
		t.Errorf("%d bytes for one character at the cursor", n)
	}
	out.Reset()
	s.Draw([]string{"x"}, []string{strings.Repeat("c", 60), strings.Repeat("d", 60), "› c"}, screen.Cursor{})
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
