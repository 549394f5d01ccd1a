package tui

import (
	"context"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/checkpoint"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/session"
)

// past is the [Past] of a harness's conversation.
type past struct {
	c      *harness.Conversation
	opened time.Time
}

func (p past) Said(ctx context.Context) []session.Entry {
	path, head := p.c.Journal().Path(), p.c.Journal().Restored().Last
	if path == "" {
		return nil
	}
	const most = 400
	var said []session.Entry
	passed := false
	for e, err := range session.Entries(ctx, path) {
		if err != nil {
			break // a conversation in which nothing was said yet has no file
		}
		if e.Agent != "" || e.Message == nil && e.Compaction == nil || passed && e.Time.Before(p.opened) {
			continue // what was said after head, before it was gone back to, is left behind
		}
		passed = passed || e.UUID == head && head != ""
		if said = append(said, e); len(said) >= 2*most {
			said = slices.Clone(said[most:])
		}
	}
	return branch(said)
}

// branch returns the messages that lead to the last of the entries, oldest first,
// without those that haft added. A conversation that went back has others beside
// them. What stands before a summary led to it.
func branch(entries []session.Entry) []session.Entry {
	var list []session.Entry
	next := ""
	for _, e := range slices.Backward(entries) {
		if next != "" && e.UUID != next {
			continue
		}
		next = e.Parent
		if e.Message != nil && !e.Message.Synthetic {
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list
}

func (p past) Sessions() ([]session.Info, error) {
	return session.Open("").List(&session.ListOptions{Cwd: p.c.Dir(), Limit: 200})
}

func (p past) PlanRewind(ctx context.Context, to string) (*checkpoint.Plan, error) {
	return p.c.PlanRewind(ctx, to)
}

func (p past) Rewind(ctx context.Context, plan *checkpoint.Plan, force bool) (undo string, err error) {
	return p.c.Rewind(ctx, plan, force)
}
