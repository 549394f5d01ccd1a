package agent

import (
	"slices"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

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
