package cli

import "github.com/spf13/cobra"

func newMCPSwitch(f *mcpFlags, use, short string, off bool) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error { return f.toggle(c.Context(), args[0], off) },
	}
}
