package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/workspace/guard"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// CallHooks are the hooks that see calls. What one of them makes of a file that a
// call has just written, as a formatter does, is nobody else's change: the model is
// shown it, and its next edit begins there. Language servers look at what is left.
func (w *World) CallHooks() sched.Hooks {
	return diagnosing{formatters{w.Hooks, w}, w}
}

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
	if err != nil || len(hunks) == 0 { // whoever needs the file next is told what is wrong with it
		return replacement, notes
	}
	if replacement == nil {
		replacement = &result
	}
	replacement.Content = withText(replacement.Content, formattedText(path.Path, hunks))
	return replacement, notes
}

// wrote returns the file that a call has left as the model knows it; if someone
// else was faster, what the hooks did cannot be told from that.
func (f formatters) wrote(t *tool.Tool, c *tool.Call, result tool.Result) (guard.Facts, bool) {
	paths := t.PathsOf(c).Writes
	if result.Failed || len(paths) != 1 {
		return guard.Facts{}, false
	}
	facts := f.world.Files.Look(paths[0])
	return facts, f.world.Files.Fresh(c.Agent, facts)
}

// withText is a content that continues with a text: in its last block, because whoever
// takes a result for one text reads only that.
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
		return fmt.Sprintf("A hook has changed %s after this call, in %d places, which is too much to show. Read it before you edit it again.", path, len(hunks))
	}
	return fmt.Sprintf("A hook has changed %s after this call. It now differs from what was written:\n%s", path, diff)
}
