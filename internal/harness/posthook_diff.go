package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
)

// formatters are hooks that may change what a call wrote.
type formatters struct {
	*hook.Runner
	world *World
}

// After runs the hooks of a call that ran, and looks at its file again.
func (f formatters) After(ctx context.Context, t *tool.Tool, c *tool.Call, result tool.Result) (*tool.Result, []string) {
	if !f.Has("PostToolUse") {
		return f.Runner.After(ctx, t, c, result)
	}
	path, wrote := f.wrote(t, c, result)
	replacement, notes := f.Runner.After(ctx, t, c, result)
	if !wrote {
		return replacement, notes
	}
	hunks, err := f.world.Files.Refresh(ctx, c.Agent, path)
	if err != nil || len(hunks) == 0 { // the next reader of the file is told what is wrong with it
		return replacement, notes
	}
	if replacement == nil {
		replacement = &result
	}
	replacement.Content = withText(replacement.Content, formattedText(path.Path, hunks))
	return replacement, notes
}

// wrote returns the file that a call has written, as the model knows it. If another program
// was faster, the hooks' changes cannot be told apart from that program's.
func (f formatters) wrote(t *tool.Tool, c *tool.Call, result tool.Result) (guard.Facts, bool) {
	paths := t.PathsOf(c).Writes
	if result.Failed || len(paths) != 1 {
		return guard.Facts{}, false
	}
	facts := f.world.Files.Look(paths[0])
	return facts, f.world.Files.Fresh(c.Agent, facts)
}

// withText appends a text to a content, in its last block, because a reader that takes a
// result for a single text reads only that.
func withText(content []tool.Block, text string) []tool.Block {
	content = slices.Clone(content)
	if last := len(content) - 1; last >= 0 && content[last].Type == tool.TextBlock {
		content[last].Text += "\n\n" + text
		return content
	}
	return append(content, tool.Block{Type: tool.TextBlock, Text: text})
}

// maxFormatted is how much of a change is shown, in bytes.
const maxFormatted = 8 << 10

func formattedText(path string, hunks []patch.Hunk) string {
	diff := strings.TrimRight(patch.Unified("written", "now", hunks), "\n")
	if len(diff) > maxFormatted {
		return fmt.Sprintf("A hook has changed %s after this call, in %d places, which is too much to show. Read the file before you edit it again.", path, len(hunks))
	}
	return fmt.Sprintf("A hook has changed %s after this call. It now differs from what was written:\n%s", path, diff)
}
