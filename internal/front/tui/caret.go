package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/screen"
	"github.com/haftdev/haft/internal/text/visible"
)

// caretMark is in a line of a panel where text is typed. It takes no room, and text of others
// never has it, as it is not printable. The terminal's cursor goes there: an input method
// shows what it composes at the cursor.
const caretMark = "\x00"

// caret is the mark and what shows it where the cursor does not.
const caret = caretMark + "▏"

// typed is what is being written in a field, with its caret.
func typed(c *composer.Composer) string {
	before := c.Before()
	oneLine := func(s string) string { return visible.ProseCells(strings.ReplaceAll(s, "\n", "⏎")) }
	return oneLine(before) + caret + oneLine(strings.TrimPrefix(c.Text(), before))
}

// takeCaret takes the mark out of lines and says where it was.
func takeCaret(lines []string) (at screen.Cursor, found bool) {
	for i, l := range lines {
		if before, after, ok := strings.Cut(l, caretMark); ok {
			lines[i], at, found = before+after, screen.Cursor{Row: i, Col: ansi.StringWidth(before)}, true
		}
	}
	return at, found
}
