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
	c.AddCommand(
		newMCPAdd(f), newMCPAddJSON(f), newMCPImport(f), newMCPList(f), newMCPGet(f), newMCPRemove(f),
		newMCPSwitch(f, "enable", "Switch an MCP server on again", false),
		newMCPSwitch(f, "disable", "Switch an MCP server off without removing it", true),
		newMCPLogin(f), newMCPLogout(f), newMCPReconnect(f), newMCPServe(f), newMCPDoctor(f), newMCPReplay(f),
	)
	return c
}
