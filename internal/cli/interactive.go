package cli

import (
	"context"
	"errors"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/lang"
)

// openTalk begins one conversation with a user at a terminal, whose language is that of words.
func openTalk(ctx context.Context, opts *headless.Options, o tui.Opening, person tui.Person, words *lang.Catalogue) (*drive.Driver, error) {
	world := opts.Harness
	w, err := harness.Open(&world)
	if err != nil {
		return nil, err
	}
	d := drive.New(&drive.Options{Terminal: true, Beside: true, Lang: words})
	talk := opts.Talk
	talk.Driver = d
	talk.Resume, talk.ResumeAt, talk.Continue, talk.Kept = o.Resume, o.At, o.Continue, o.Kept
	talk.Person, talk.Interactive, talk.MCP.Elicit = person, true, person.Elicit
	c, err := w.Talk(ctx, &talk)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if err := c.Journal().KeepPlace(ctx); err != nil {
		c.Agent.Emit(agent.Notice{Level: "warning", Text: "Could not save the return to an earlier message: " + err.Error()})
	}
	d.Begin(c)
	return d, nil
}
