package tui

import (
	"context"
	"strings"
	"testing"
)

// TestTheCursorIsWhereTextGoes types Chinese text into everything that takes text: the
// terminal's cursor is behind it each time, where an input method composes, and all of the
// text is on the screen.
func TestTheCursorIsWhereTextGoes(t *testing.T) {
	const text = "请改用另一个数据库，并且先运行全部测试"
	for name, show := range map[string]func(b *bed, ctx context.Context){
		"the input box": func(*bed, context.Context) {},
		"a reason":      screens()["why"],
		"own words": func(b *bed, ctx context.Context) {
			screens()["choice"](b, ctx)
			b.type_("3\r")
		},
		"a plan": func(b *bed, ctx context.Context) {
			screens()["plan"](b, ctx)
			b.type_("e")
		},
		"a form": func(b *bed, ctx context.Context) {
			screens()["form"](b, ctx)
			b.type_("\x7f\x7f")
		},
		"a filter": func(b *bed, _ context.Context) { b.type_("/model\r") },
		"a search": func(b *bed, ctx context.Context) { screens()["transcript"](b, ctx); b.type_("/") },
		"a server of my own": func(b *bed, ctx context.Context) {
			screens()["login"](b, ctx)
			b.type_("2\r")
		},
	} {
		for _, size := range []Size{{80, 24}, {40, 15}} {
			t.Run(name, func(t *testing.T) {
				sized(t, size, func(t *testing.T, b *bed) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					show(b, ctx)
					b.type_(text)
					screen := b.screen()
					b.mu.Lock()
					at := b.term.CursorPosition()
					b.mu.Unlock()
					if shown := strings.NewReplacer("\n", "", " ", "").Replace(screen); !strings.Contains(shown, text) {
						t.Errorf("the text is not on the screen:\n%s", screen)
					}
					if before := b.before(at.X, at.Y); !strings.HasSuffix(before, text) {
						t.Errorf("the cursor is at %d,%d, behind %q:\n%s", at.X, at.Y, before, screen)
					}
				})
			})
		}
	}
}

// before is what is on the screen before a place, without blanks.
func (b *bed) before(column, row int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text strings.Builder
	for y := range row + 1 {
		for x := range b.term.Width() {
			if c := b.term.CellAt(x, y); c != nil && (y < row || x < column) {
				text.WriteString(strings.TrimSpace(c.Content))
			}
		}
	}
	return text.String()
}
