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

// View returns the text in lines of at most width columns, broken between words, with what is
// selected set off by mark, and where the caret is in them.
func (c *Composer) View(width int, mark func(string) string) (lines []string, row, col int) {
	width = max(width, 2)
	from, to := c.selection()
	ends := c.breaks(width)
	start := 0
	for n, end := range ends {
		var line strings.Builder
		used := 0
		last := n == len(ends)-1
		for i := start; i < end; {
			cluster := c.cluster(i)
			if c.at >= i && c.at < i+len(cluster) { // within what is shown as one
				row, col = n, used
			}
			if cluster[0] == '\n' {
				break
			}
			shown := strings.ReplaceAll(string(cluster), "\t", "    ")
			w := ansi.StringWidth(shown)
			if used+w <= width { // else it is the blank at which the line was broken
				if i >= from && i < to && mark != nil {
					shown = mark(shown)
				}
				line.WriteString(shown)
				used += w
			}
			i += len(cluster)
		}
		if last && c.at == len(c.text) {
			row, col = n, used
		}
		lines = append(lines, line.String())
		start = end
	}
	if col >= width { // the caret stands after a full line
		row, col = row+1, 0
		if row == len(lines) {
			lines = append(lines, "")
		}
	}
	return lines, row, col
}

// breaks are where the lines end: after a line feed, after a blank or beside a character of double
// width if the next word has no room, or within a word that is longer than a line.
func (c *Composer) breaks(width int) (ends []int) {
	start, used := 0, 0
	between := 0 // where the line can be broken
	for i := 0; i < len(c.text); {
		cluster := c.cluster(i)
		if cluster[0] == '\n' {
			i++
			ends = append(ends, i)
			start, used, between = i, 0, i
			continue
		}
		w := ansi.StringWidth(strings.ReplaceAll(string(cluster), "\t", "    "))
		if w > 1 && cluster[0] != '\t' {
			between = i
		}
		blank := cluster[0] == ' ' || cluster[0] == '\t'
		if used+w > width && !(blank && used <= width) {
			if between <= start {
				between = i
			}
			ends = append(ends, between)
			start = between
			used = 0
			i = start
			between = start
			continue
		}
		used += w
		i += len(cluster)
		if blank || w > 1 {
			between = i
		}
	}
	return append(ends, len(c.text))
}

// cluster returns the characters from i on that are shown as one.
func (c *Composer) cluster(i int) []rune {
	end := min(i+16, len(c.text))
	first, _ := ansi.FirstGraphemeCluster(string(c.text[i:end]), ansi.GraphemeWidth)
	return c.text[i : i+max(1, len([]rune(first)))]
}
