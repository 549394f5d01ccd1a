package knowledge

import "strings"

// FirstParagraph is what a text says about itself if it has no description: its
// first lines that are no heading.
func FirstParagraph(body string) string {
	var lines []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		switch {
		case line != "" && !strings.HasPrefix(line, "#"):
			lines = append(lines, line)
		case len(lines) > 0:
			return strings.Join(lines, " ")
		}
	}
	return strings.Join(lines, " ")
}
