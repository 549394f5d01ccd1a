package cli

import (
	"context"
	"errors"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/harness"
)

// openTalk begins one conversation with a user.
func openTalk(ctx context.Context, opts *headless.Options, o tui.Opening, person tui.Person) (*harness.Conversation, error) {
	world := opts.Harness
	w, err := harness.Open(&world)
	if err != nil {
		return nil, err
	}
	talk := opts.Talk
	talk.Resume, talk.ResumeAt, talk.Continue, talk.Kept = o.Resume, o.At, o.Continue, o.Kept
	talk.Person, talk.Interactive, talk.MCP.Elicit = person, true, person.Elicit
	c, err := w.Talk(ctx, &talk)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := c.Journal().KeepPlace(ctx); err != nil {
		c.Agent.Emit(agent.Notice{Level: "warning", Text: "Could not save the return to an earlier message: " + err.Error()})
	}
	return c, nil
}
