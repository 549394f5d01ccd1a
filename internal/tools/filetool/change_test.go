package filetool

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/patch"
)

func TestALongLineShowsItsChange(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	hunks := []patch.Hunk{{OldStart: 1, OldLines: 2, NewStart: 1, NewLines: 2, Lines: []string{" " + long, "-" + long + "old" + long, "+" + long + "new" + long}}}
	lines := strings.Split(Change{Say: "Done.", Hunks: hunks}.Text(), "\n")
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
	text := Change{Say: "Done.", Hunks: []patch.Hunk{h}}.Text()
	if n := strings.Count(text, "\n"); n > maxOwn+2 || !strings.HasSuffix(text, "… [4941 more lines]") {
		t.Errorf("%d lines, ending %q", n, text[len(text)-60:])
	}
}

func TestManyPlacesAreCounted(t *testing.T) {
	var hunks []patch.Hunk
	for i := range 48 {
		hunks = append(hunks, patch.Hunk{OldStart: 1 + 20*i, NewStart: 1 + 20*i, OldLines: 1, NewLines: 1, Lines: []string{"-a", "+b"}})
	}
	text := Change{Say: "Done.", Hunks: hunks}.Text()
	if n := strings.Count(text, "@@ -"); n != 3 || !strings.HasSuffix(text, "… [45 more places]") {
		t.Errorf("%d places: %s", n, text)
	}
}

func TestOverwritingWithoutABaseSaysSo(t *testing.T) {
	text := Change{Say: "Done.", Stale: true, Whole: true}.Text()
	if !strings.Contains(text, "was replaced, as on_conflict asked") {
		t.Error(text)
	}
}
