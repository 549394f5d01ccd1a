package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/cli/demo"
	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/world/shellrun"
)

func newDemo(s Streams, reexec shellrun.Reexec) *cobra.Command {
	o := &demo.Options{Out: s.Out, Text: s.folded(), Story: foldedPieces(s.Out), Err: s.Err, Color: isTerminal(s.Out), Reexec: reexec, Version: version()}
	c := &cobra.Command{
		Use:   "demo [SCENE]",
		Short: message("Watch haft work, with a scripted model; no key and no network needed"),
		Long:  aboutDemo(nil),
		Args:  atMost(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, scene := range demo.Scenes() {
				names = append(names, scene.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Lang = s.words()
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that is gone ends the demo, which cleans up
			if tui.IsTerminal(s.In, s.Out) {
				o.ReadLine = func(ctx context.Context) (string, error) { return readLine(ctx, s.In) }
			}
			err := demo.Run(c.Context(), strings.Join(args, ""), o)
			switch {
			case err != nil && c.Context().Err() != nil:
				fmt.Fprintf(s.folded(), "\n%s\n", o.Lang.T("Interrupted."))
				return codeError(exitCancelled)
			case errors.Is(err, syscall.EPIPE):
				return codeError(exitFailed)
			case errors.Is(err, demo.ErrNoScene):
				return usageError{err}
			}
			return err
		},
	}
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = aboutDemo(s.words())
		c.Parent().HelpFunc()(c, args)
	})
	c.Flags().BoolVar(&o.Keep, "keep", false, "keep the temporary repository")
	c.Flags().BoolVar(&o.Quick, "quick", false, "do not pause, and answer yes to every question")
	return c
}

// aboutDemo is the help of the command, which lists the scenes.
func aboutDemo(words *lang.Catalogue) string {
	var b strings.Builder
	b.WriteString(words.T(`Watch haft work in a temporary repository. The model is scripted: its answers are
fixed, and served over real HTTP on this machine. Everything else is real: the
client, the streaming, the tools, the verdicts, the files and the processes.

Without a scene, you choose from this list. Without a terminal, the first one plays:`) + "\n\n")
	for _, scene := range demo.Scenes() {
		fmt.Fprintf(&b, "  %-11s %s\n", scene.Name, words.T(scene.Title))
	}
	return b.String()
}
