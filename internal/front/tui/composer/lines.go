package composer

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Up moves the caret up by a line, or to an older text of the history from the
// first one. It reports false at the end of both.
func (c *Composer) Up() bool {
	if start := c.lineStart(); start > 0 {
		column := c.at - start
		c.at = start - 1
		c.at = min(c.lineStart()+column, start-1)
		return true
	}
	return c.recall(c.back + 1)
}

// Down moves the caret down by a line, or to a newer text.
func (c *Composer) Down() bool {
	if end := c.lineEnd(); end < len(c.text) {
		column := c.at - c.lineStart()
		c.at = end + 1
		c.at = min(c.at+column, c.lineEnd())
		return true
	}
	return c.recall(c.back - 1)
}

// recall shows a text of the history.
func (c *Composer) recall(back int) bool {
	if back < 0 || back > len(c.history) {
		return false
	}
	if c.back == 0 {
		c.draft = string(c.text)
	}
	text := c.draft
	if back > 0 {
		text = c.history[len(c.history)-back]
	}
	c.Set(text)
	c.back = back
	return true
}

// View returns the text in lines of at most width columns, with what is selected set off by
// mark, and where the caret is in them.
func (c *Composer) View(width int, mark func(string) string) (lines []string, row, col int) {
	width = max(width, 2)
	from, to := c.selection()
	var line strings.Builder
	used := 0
	next := func() {
		lines = append(lines, line.String())
		line.Reset()
		used = 0
	}
	for i := 0; i <= len(c.text); {
		if i == c.at {
			row, col = len(lines), used
		}
		if i == len(c.text) {
			break
		}
		if c.text[i] == '\n' {
			next()
			i++
			continue
		}
		cluster := c.cluster(i)
		shown := strings.ReplaceAll(string(cluster), "\t", "    ")
		w := ansi.StringWidth(shown)
		if used+w > width {
			next()
			if i == c.at {
				row, col = len(lines), 0
			}
		}
		if i >= from && i < to && mark != nil {
			shown = mark(shown)
		}
		line.WriteString(shown)
		if c.at > i && c.at < i+len(cluster) { // within what is shown as one
			row, col = len(lines), used
		}
		used += w
		i += len(cluster)
	}
	next()
	if col >= width { // the caret stands after a full line
		row, col = row+1, 0
		if row == len(lines) {
			lines = append(lines, "")
		}
	}
	return lines, row, col
}

// cluster returns the characters from i on that are shown as one.
func (c *Composer) cluster(i int) []rune {
	end := min(i+16, len(c.text))
	first, _ := ansi.FirstGraphemeCluster(string(c.text[i:end]), ansi.GraphemeWidth)
	return c.text[i : i+max(1, len([]rune(first)))]
}
