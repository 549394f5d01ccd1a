package tui

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/tool"
)

// TestEveryKeyOfAQuestion presses each key that docs/terminal.md lists for questions; one
// that has no case here fails.
func TestEveryKeyOfAQuestion(t *testing.T) {
	answers := func(behavior tool.Behavior) func(*testing.T, *bed, <-chan tool.Verdict) {
		return func(t *testing.T, b *bed, answer <-chan tool.Verdict) {
			select {
			case v := <-answer:
				if v.Behavior != behavior {
					t.Errorf("answered %+v", v)
				}
			default:
				t.Errorf("not answered:\n%s", b.screen())
			}
		}
	}
	shows := func(text string) func(*testing.T, *bed, <-chan tool.Verdict) {
		return func(t *testing.T, b *bed, _ <-chan tool.Verdict) {
			if !strings.Contains(b.screen(), text) {
				t.Errorf("%q is not shown:\n%s", text, b.screen())
			}
		}
	}
	const short, long = 3, 100 // lines of the change
	const wait = "…"           // a moment
	cases := map[string]struct {
		lines int
		press []string
		then  func(*testing.T, *bed, <-chan tool.Verdict)
	}{
		"y": {short, []string{"y"}, answers(tool.Allow)}, "m": {short, []string{"m", wait, "\r"}, answers(tool.Allow)}, "s": {short, []string{"s", wait, "\r"}, answers(tool.Allow)},
		"a": {short, []string{"a", wait, "\r"}, answers(tool.Allow)}, "n": {short, []string{"n"}, answers(tool.Deny)}, "e": {short, []string{"e"}, shows("Why not, or what instead?")},
		"1": {short, []string{"1"}, shows("▸ y Allow this once")}, "6": {short, []string{"6"}, shows("▸ e Deny and explain")},
		"down": {short, []string{"\x1b[B"}, shows("▸ y Allow this once")}, "up": {short, []string{"\x1b[A"}, shows("▸ e Deny and explain")},
		"page down": {long, []string{"\x1b[6~"}, shows("lines 10–")}, "space": {long, []string{" "}, shows("lines 10–")}, "page up": {long, []string{"\x1b[6~", "\x1b[5~"}, shows("lines 1–")},
		"ctrl+o": {long, []string{"\x0f"}, shows("q closes")}, "shift+tab": {short, []string{"\x1b[Z"}, shows("a question waits: answer it first")},
		"home": {long, []string{"G", "\x1b[H"}, shows("lines 1–")}, "end": {long, []string{"\x1b[F"}, shows("of 102")}, "g": {long, []string{"G", "g"}, shows("lines 1–")}, "G": {long, []string{"G"}, shows("of 102")},
		"/": {long, []string{"/", "line"}, shows("/line")},
	}
	for _, name := range documentedKeys(t) {
		c, ok := cases[name]
		if !ok {
			t.Errorf("no case presses %q", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, b *bed) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				call, q := editCase(c.lines)
				answer := b.ask(ctx, call, q)
				b.turnTo()
				for _, k := range c.press {
					if k == wait {
						b.pause(settling)
						continue
					}
					b.type_(k)
				}
				b.pause(2 * frame)
				c.then(t, b, answer)
			})
		})
	}
}

// documentedKeys are those of the table of answers.
func documentedKeys(t *testing.T) (keys []string) {
	docs, err := os.ReadFile("../../../docs/terminal.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(docs), "| key | answer |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/terminal.md has no table of the answers")
	}
	for row := range strings.Lines(table) {
		cell, isRow := strings.CutPrefix(row, "| ")
		if !isRow {
			break
		}
		cell, _, _ = strings.Cut(cell, " |")
		for key := range strings.SplitSeq(strings.ReplaceAll(cell, "1 to 6", "1, 6"), ", ") {
			keys = append(keys, key)
		}
	}
	return keys
}
