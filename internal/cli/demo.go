package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/cli/demo"
	"github.com/haftdev/haft/internal/tui"
	"github.com/haftdev/haft/shellrun"
)

func newDemo(s Streams, reexec shellrun.Reexec) *cobra.Command {
	o := &demo.Options{Out: s.Out, Err: s.Err, Color: isTerminal(s.Out), Reexec: reexec, Version: version()}
	c := &cobra.Command{
		Use:   "demo [SCENE]",
		Short: "Watch haft work, with a scripted model; no key and no network needed",
		Long: `Watch haft work in a temporary repository. The model is scripted: its answers are
fixed, and served over real HTTP on this machine. Everything else is real: the
client, the streaming, the tools, the verdicts, the files and the processes.

Without a scene, you choose from this list. Without a terminal, the first one plays:

` + sceneList(),
		Args: atMost(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, scene := range demo.Scenes() {
				names = append(names, scene[0])
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if tui.IsTerminal(s.In, s.Out) {
				o.ReadLine = func(ctx context.Context) (string, error) { return readLine(ctx, s.In) }
			}
			err := demo.Run(c.Context(), strings.Join(args, ""), o)
			if errors.Is(err, demo.ErrNoScene) {
				return usageError{err}
			}
			return err
		},
	}
	c.Flags().BoolVar(&o.Keep, "keep", false, "keep the temporary repository")
	c.Flags().BoolVar(&o.Quick, "quick", false, "do not pause, and answer yes to every question")
	return c
}

func sceneList() string {
	var b strings.Builder
	for _, scene := range demo.Scenes() {
		fmt.Fprintf(&b, "  %-11s %s\n", scene[0], scene[1])
	}
	return b.String()
}
