package harness

import (
	"context"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/tools/lsp"
	language "github.com/haftdev/haft/internal/world/lsp"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// languages makes the tool that asks language servers. They read the project, and are
// confined to that as far as this machine and the settings allow.
func (w *World) languages() (*lsp.Tools, error) {
	defs, err := w.Project.LanguageServers()
	if err != nil {
		return nil, err
	}
	confines := func() bool { return w.Project.Counts.Sandbox().Mode != settings.SandboxOff && w.confined.works() }
	servers := language.NewServers(w.host, &language.Options{
		Definitions: defs,
		Roots:       func() []string { return w.Engine.Guard().Roots() },
		Box: func() *sandbox.Spec {
			if !confines() {
				return nil
			}
			return w.confined.box(tool.ReadOnly)
		},
	})
	return lsp.New(&lsp.Options{Servers: servers, Show: w.maySearch, Confined: confines}), nil
}

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
