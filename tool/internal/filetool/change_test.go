package filetool

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/workspace/patch"
)

func TestALongLineShowsItsChange(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	hunks := []patch.Hunk{{OldStart: 1, OldLines: 2, NewStart: 1, NewLines: 2, Lines: []string{" " + long, "-" + long + "old" + long, "+" + long + "new" + long}}}
	lines := strings.Split(Change{Say: "Done.", Path: "f", Hunks: hunks}.Text(), "\n")
	last := lines[len(lines)-3:]
	if len(last[0]) > 2100 || !strings.HasPrefix(last[0], " xxx") {
		t.Errorf("context: %.50s", last[0])
	}
	for i, want := range []string{"xold", "xnew"} {
		if l := last[i+1]; len(l) > 2100 || !strings.Contains(l, want) || !strings.HasPrefix(l[1:], "[9800 bytes] …x") {
			t.Errorf("%d bytes without %q: %.50s", len(l), want, l)
		}
	}
}

func TestALongDiffEnds(t *testing.T) {
	h := patch.Hunk{OldStart: 1, NewStart: 1, OldLines: 5000}
	for range 5000 {
		h.Lines = append(h.Lines, "-x")
	}
	text := Change{Say: "Done.", Path: "f", Hunks: []patch.Hunk{h}}.Text()
	if n := strings.Count(text, "\n"); n > maxDiff+2 || !strings.HasSuffix(text, "… [4003 more lines of the diff]") {
		t.Errorf("%d lines, ending %q", n, text[len(text)-60:])
	}
}

func TestOverwritingWithoutABaseSaysSo(t *testing.T) {
	text := Change{Say: "Done.", Path: "f", Stale: true, Whole: true}.Text()
	if !strings.Contains(text, "was replaced, as on_conflict asked") {
		t.Error(text)
	}
}
