package agent

import (
	"slices"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// stripMedia replaces images and documents in what was heard since the last
// answer, and reports whether there were any.
func (c *conversation) stripMedia(with string) (found bool) {
	heard := slices.Clone(c.heard)
	for i, b := range heard {
		switch b.Type {
		case "image", "document":
			heard[i], found = model.TextOf(with), true
		case model.ToolResult:
			heard[i].Content = slices.Clone(b.Content)
			for j, m := range heard[i].Content {
				if m.Type == tool.ImageBlock || m.Type == tool.DocumentBlock {
					heard[i].Content[j], found = tool.Block{Type: tool.TextBlock, Text: with}, true
				}
			}
		}
	}
	if !found {
		return false
	}
	if c.sent {
		c.history = *c.history.Prefix(c.history.Len() - 1)
	}
	c.heard, c.sent = heard, false
	return true
}

// stripThoughts takes all thoughts out of the conversation, whose seals another
// provider than the one that made them may not accept. It reports whether there
// were any.
func (c *conversation) stripThoughts() (found bool) {
	var h model.History
	for i := range c.history.Len() {
		m, err := c.history.Message(i)
		if err != nil {
			return false
		}
		before := len(m.Content)
		m.Content = slices.DeleteFunc(m.Content, thought)
		if len(m.Content) == before {
			h.AppendJSON(c.history.JSON(i))
			continue
		}
		found = true
		if err := h.Append(m); err != nil {
			return false
		}
	}
	if found {
		c.history = h
	}
	return found
}
