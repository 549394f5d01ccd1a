package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/test/changetest"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool"
)

// TestTheDialogShowsTheChange asks about random calls, and holds the lines of the dialog
// with their numbers against what the calls made of their files.
func TestTheDialogShowsTheChange(t *testing.T) {
	seen := changetest.NewProject(t).Approved(t, rand.New(rand.NewPCG(15, 5)), 100)
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{400, 200}, style.Palette{})
		defer b.close()
		for _, s := range seen {
			p := newPermission(b.app, s.Shown, tool.Verdict{Behavior: tool.Ask}, func(tool.Verdict) {})
			var got []string
			for _, l := range p.body(b.app.view()) {
				if l = ansi.Strip(l); len(strings.Fields(l)) > 0 && strings.Trim(strings.Fields(l)[0], "0123456789") == "" {
					got = append(got, strings.TrimRight(l, " "))
				}
			}
			var want []string
			for _, h := range card.Diff(s.Made(t), nil).Hunks {
				want = append(want, numbered(h.Lines, h.OldStart, h.NewStart)...)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-made +asked):\n%s", s.Case, d)
			}
		}
	})
}

// numbered are the lines of a hunk as the dialog should have them.
func numbered(hunk []string, from, to int) []string {
	var lines []string
	for _, l := range hunk {
		n := to
		switch l[0] {
		case '\\':
			continue
		case '-':
			n, from = from, from+1
		case '+':
			to++
		default:
			from, to = from+1, to+1
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %3d %s %s", n, l[:1], visible.Blanks(visible.Cells(l[1:]))), " "))
	}
	return lines
}
