package harness

import (
	"context"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// diagnosing are hooks after which language servers look at what a call wrote.
type diagnosing struct {
	sched.Hooks
	world *World
}

// After adds to a result which errors the call has brought about.
func (d diagnosing) After(ctx context.Context, t *tool.Tool, c *tool.Call, result tool.Result) (*tool.Result, []string) {
	replacement, notes := d.Hooks.After(ctx, t, c, result)
	paths := t.PathsOf(c).Writes
	if result.Failed || len(paths) == 0 {
		return replacement, notes
	}
	text := d.world.builtins.Languages.AfterEdit(ctx, c.Dir, paths)
	if text == "" {
		return replacement, notes
	}
	if replacement == nil {
		replacement = &result
	}
	replacement.Content = withText(replacement.Content, text)
	return replacement, notes
}
