package cli

import (
	"github.com/spf13/cobra"

	"github.com/haftdev/haft/shellrun"
)

// mcpFlags are what the commands under "haft mcp" share.
type mcpFlags struct {
	Streams
	reexec shellrun.Reexec
	json   bool
}

func newMCP(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &mcpFlags{Streams: s, reexec: reexec}
	c := group(&cobra.Command{
		Use:   "mcp",
		Short: "Use MCP servers, and be one",
		Long:  "Use MCP servers, and be one: haft's own tools for any program that speaks the\nModel Context Protocol.",
	})
	c.PersistentFlags().BoolVar(&f.json, "json", false, "write JSON")
	c.AddCommand(newMCPServe(f))
	return c
}
