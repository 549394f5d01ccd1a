package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestWrappingLosesNoLetter breaks texts at every width: all letters stay, and no line is
// wider than it may be.
func TestWrappingLosesNoLetter(t *testing.T) {
	for _, text := range []string{
		"This folder brings 3 things, among them hooks that guard it. What you write waits for your answer:",
		"mcp server files: npx -y @modelcontextprotocol/server-filesystem /very/long/path/without-a-blank",
		"y Allow this once: Bash(git commit:*) in .claude/settings.local.json (left and right choose where)",
		"这个文件夹带来 3 项会运行、连接或放行的内容: 包括 hooks，你写的内容会等待你的回答",
		"a-b--c ---- d", " x  y   z ", "ends with dash- ",
	} {
		squeezed := strings.ReplaceAll(text, " ", "")
		for width := 4; width < 120; width++ {
			parts := hardWrap(text, width)
			if got := strings.ReplaceAll(strings.Join(parts, ""), " ", ""); got != squeezed {
				t.Errorf("at %d columns %q became %q", width, text, parts)
			}
			for _, p := range parts {
				if ansi.StringWidth(p) > width {
					t.Errorf("at %d columns there is %q", width, p)
				}
			}
		}
	}
}
