package read

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/tool"
)

// tags are those that a cell's text could use to end itself and speak for another program.
var tags = lazyregexp.New(`(?i)<(/?(?:cell|output|system-reminder)\b)`)

// harmless is text that holds none of our tags.
func harmless(s string) string { return strings.TrimRight(tags.ReplaceAllString(s, "&lt;$1"), "\n") }

// renderCells writes cells between tags, with their images as images.
func renderCells(cells []cell) []tool.Block {
	var blocks []tool.Block
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			blocks = append(blocks, tool.Block{Type: tool.TextBlock, Text: strings.TrimRight(b.String(), "\n")})
			b.Reset()
		}
	}
	for _, c := range cells {
		fmt.Fprintf(&b, "<cell id=%q type=%q", c.ID, c.Type)
		if c.Language != "" {
			fmt.Fprintf(&b, " language=%q", c.Language)
		}
		fmt.Fprintf(&b, ">\n%s\n</cell>\n", harmless(c.Source))
		for _, o := range c.Outputs {
			if o.Text != "" {
				fmt.Fprintf(&b, "<output cell=%q type=%q>\n%s\n</output>\n", c.ID, o.Type, harmless(o.Text))
			}
			if o.Image != nil {
				flush()
				blocks = append(blocks, tool.Block{Type: tool.ImageBlock, MediaType: o.Image.MediaType, Data: decoded(o.Image.Data)})
			}
		}
	}
	flush()
	if len(blocks) == 0 {
		blocks = append(blocks, tool.Block{Type: tool.TextBlock})
	}
	return blocks
}
