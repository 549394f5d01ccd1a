package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/tui/style"
)

// TestChangedWordsAreMarked holds which parts of changed lines are set off.
func TestChangedWordsAreMarked(t *testing.T) {
	for _, c := range []struct{ name, was, is, want string }{
		{"a word", "return total + tax", "return total - tax", "return total [+] tax|return total [-] tax"},
		{"a word in the middle", "sum += item.Price", "sum += item.Price * item.Pieces", "sum += item.Price|sum += item.Price[ * item.Pieces]"},
		{"little in common", "alpha beta", "one, two (three)", "alpha beta|one, two (three)"},
		{"wide characters", "价格是三元", "价格是三元 now", "价格是三元|价格是三元[ now]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			marked := func(l string, words [][2]int) string {
				r := []rune(l)
				for i := len(words) - 1; i >= 0; i-- {
					w := words[i]
					r = append(r[:w[0]:w[0]], append([]rune("["+string(r[w[0]:w[1]])+"]"), r[w[1]:]...)...)
				}
				return string(r)
			}
			words := changedWords([]string{" x", "-" + c.was, "+" + c.is, " y"})
			if d := cmp.Diff(c.want, marked(c.was, words[1])+"|"+marked(c.is, words[2])); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDiffLinesLoseNothing: the colours of words and of code add no character and take none away.
func TestDiffLinesLoseNothing(t *testing.T) {
	hunk := []string{" func Total() int {", "-\treturn price // of one", "+\treturn price * pieces // of all", " }"}
	for _, b := range []style.Background{style.Dark, style.Light, style.DarkBasic, style.Plain} {
		v := view{width: 24, height: 24, paint: style.Of(b)}
		lines := diffLines(hunk, 1, 1, "a.go", v)
		plain := ansi.Strip(strings.Join(lines, "\n"))
		want := strings.Join(diffLinesPlain(hunk), "\n")
		if d := cmp.Diff(want, plain); d != "" {
			t.Errorf("%s: %s", b, d)
		}
		if word := string(v.paint.AddedWord); word != "" && !strings.Contains(strings.Join(lines, ""), "\x1b["+word+"m") {
			t.Errorf("%s: no word is set off: %q", b, lines)
		}
	}
}

// diffLinesPlain are the lines without colours.
func diffLinesPlain(hunk []string) []string {
	return diffLines(hunk, 1, 1, "a.go", view{width: 24, height: 24})
}
