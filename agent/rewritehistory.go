package agent

import (
	"bytes"
	"slices"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// rewrite changes the messages of the conversation that contain the given bytes. An
// unchanged message keeps its bytes.
func (c *conversation) rewrite(holding string, change func([]model.Block) ([]model.Block, bool)) (changed bool) {
	var h model.History
	last := c.history.Len() - 1
	for i := range c.history.Len() {
		raw := c.history.JSON(i)
		m, ok := rewritten(&c.history, i, holding, change)
		if !ok || h.Append(m) != nil {
			h.AppendJSON(raw)
			continue
		}
		changed = true
		if i == last && c.sent {
			c.heard = m.Content
		} else if i == last && c.said != nil {
			c.said = m.Content
		}
	}
	if !c.sent {
		if heard, ok := change(slices.Clone(c.heard)); ok {
			c.heard, changed = heard, true
		}
	}
	if changed {
		c.history = h
	}
	return changed
}

// rewritten returns a message after a change, and whether there was any.
func rewritten(h *model.History, i int, holding string, change func([]model.Block) ([]model.Block, bool)) (model.Message, bool) {
	if !bytes.Contains(h.JSON(i), []byte(holding)) {
		return model.Message{}, false
	}
	m, err := h.Message(i)
	if err != nil {
		return m, false
	}
	var changed bool
	m.Content, changed = change(m.Content)
	return m, changed && len(m.Content) > 0
}

// stripThoughts removes all thoughts from the conversation, because another provider may
// not accept their signatures. It reports whether there were any.
func (c *conversation) stripThoughts() (found bool) {
	return c.rewrite(`thinking"`, func(blocks []model.Block) ([]model.Block, bool) {
		before := len(blocks)
		blocks = slices.DeleteFunc(blocks, thought)
		return blocks, len(blocks) < before
	})
}

// replaceMedia replaces each image and document in blocks by a text, where instead returns
// one.
func replaceMedia(blocks []model.Block, instead func(medium) string) (changed bool) {
	for i, b := range blocks {
		if m, ok := mediumOf(b); ok {
			if text := instead(m); text != "" {
				blocks[i], changed = model.TextOf(text), true
			}
			continue
		}
		if b.Type != model.ToolResult || b.Raw != nil {
			continue
		}
		content := slices.Clone(b.Content)
		for j, part := range content {
			if part.Type != tool.ImageBlock && part.Type != tool.DocumentBlock {
				continue
			}
			if text := instead(medium{part.Type == tool.ImageBlock, part.MediaType, part.Data}); text != "" {
				content[j], changed = tool.Block{Type: tool.TextBlock, Text: text}, true
				blocks[i].Content = content
			}
		}
	}
	return changed
}
