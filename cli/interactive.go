package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/harness"
	"github.com/haftdev/haft/headless"
	"github.com/haftdev/haft/tui"
	"github.com/haftdev/haft/tui/style"
	"github.com/haftdev/haft/workspace"
)

// interactive reports whether a person sits in front of a terminal and wants to
// talk: haft without a word, or with a sentence. One word that is no command is
// more likely one that was misspelt.
func (f *converseFlags) interactive(args []string) bool {
	if len(args) == 1 && !strings.ContainsAny(args[0], " \n") {
		return false
	}
	return !f.print && f.Input != "stream-json" && tui.IsTerminal(f.In, f.Out) && os.Getenv("TERM") != "dumb"
}

// interact opens the screen.
func (f *converseFlags) interact(c *cobra.Command, args []string) error {
	opts, err := f.options(c.Flags())
	if err != nil {
		return err
	}
	ctx := c.Context()
	term, err := tui.OpenTerminal(f.In.(*os.File), f.Out.(*os.File))
	if err != nil {
		return err
	}
	defer term.Close()
	return tui.Run(ctx, &tui.Options{
		In: term, Out: term, Size: term.Size(), Resized: term.Resized(ctx),
		Palette: style.Of(style.Detect(os.Getenv)), Version: version(), Edit: term.Edit,
		History: tui.HistoryFile(filepath.Join(workspace.StateDir(), "history.jsonl")),
		First:   tui.Opening{Resume: f.Resume, At: f.ResumeAt, Continue: f.Continue},
		Prompt:  strings.Join(args, " "),
		Open:    opener(opts), Setup: credentialsFile(),
	})
}

// opener begins conversations as the flags say.
func opener(opts *headless.Options) func(context.Context, tui.Opening, tui.Person) (tui.Talk, error) {
	return func(ctx context.Context, o tui.Opening, person tui.Person) (tui.Talk, error) {
		world := opts.Harness
		w, err := harness.Open(&world)
		if err != nil {
			return nil, err
		}
		talk := opts.Talk
		talk.Resume, talk.ResumeAt, talk.Continue = o.Resume, o.At, o.Continue
		talk.Person, talk.Interactive, talk.MCP.Elicit = person, true, person.Elicit
		c, err := w.Talk(ctx, &talk)
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		return tui.Of(c), nil
	}
}
