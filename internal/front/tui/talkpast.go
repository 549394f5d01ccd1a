package tui

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/session"
)

// past is the [Past] of a harness's conversation.
type past struct{ c *harness.Conversation }

// pastShown is how many messages of an earlier conversation are shown at least.
const pastShown = 400

func (p past) Said(ctx context.Context) []session.Entry { return p.c.Past(ctx, pastShown) }

func (p past) Lost() string {
	path := p.c.Journal().Path()
	if _, err := os.Lstat(path); path == "" || !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

func (p past) Markdown(ctx context.Context) (string, error) {
	var b strings.Builder
	err := session.Open("").Export(ctx, p.c.Agent.Session(), &b, session.Markdown)
	return b.String(), err
}

func (p past) Restored(ctx context.Context) (map[string][]string, error) {
	return p.c.Restored(ctx)
}

func (p past) PlanRewind(ctx context.Context, to string) (*checkpoint.Plan, error) {
	return p.c.PlanRewind(ctx, to)
}

func (p past) Rewind(ctx context.Context, plan *checkpoint.Plan, force bool) (undo string, err error) {
	return p.c.Rewind(ctx, plan, force)
}
