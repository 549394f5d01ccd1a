package cli

import (
	"errors"

	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// acpFlags are the conversation flags that make sense in an editor, which decides the rest.
var acpFlags = []string{
	"model", "fallback-model", "permission-mode", "dangerously-skip-permissions", "allow-dangerously-skip-permissions", "i-know",
	"preview", "allowedTools", "disallowedTools", "tools", "bare", "append-system-prompt", "add-dir", "plugin-dir", "settings", "setting-sources",
	"trust-project", "ignore-project-hooks", "ignore-bad-rules", "max-turns", "max-budget-usd", "max-time", "effort", "thinking",
	"mcp-config", "strict-mcp-config", "agent", "debug-file",
}

func newACP(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &converseFlags{Streams: s, reexec: reexec, onAsk: onAskDeny}
	all := pflag.NewFlagSet("acp", pflag.ContinueOnError)
	f.Flags.Define(all)
	setup := false
	c := &cobra.Command{
		Use:   "acp",
		Short: message("Work in an editor that speaks the Agent Client Protocol"),
		Long: `Work in an editor that speaks the Agent Client Protocol, such as Zed, a JetBrains
IDE, Neovim or Emacs. The editor starts this command and talks to it on standard
input and output; 'haft help acp' says how to set that up.

Sessions are the same as in a terminal: the same settings, rules, hooks and MCP
servers apply, and 'haft --resume' resumes them. Questions about permissions are
asked in the editor.`,
		Example: `  haft acp
  haft acp --model sonnet --permission-mode plan`,
		Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error {
			credentialsFile().use()
			if setup && !tui.IsTerminal(f.In, f.Out) {
				return usageError{errors.New("--setup needs a terminal. Run 'haft' in one, or set ANTHROPIC_API_KEY for the editor's agent")}
			}
			if setup {
				return f.interact(c, nil)
			}
			return f.serveEditor(c)
		},
	}
	for _, name := range acpFlags {
		c.Flags().AddFlag(all.Lookup(name))
	}
	c.Flags().BoolVar(&setup, "setup", false, "open the screen to choose a model; leave it with ctrl+d")
	return c
}
