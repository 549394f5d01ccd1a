package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// newCompletion replaces cobra's command of the same name, which has a subcommand with a
// page of help for each shell.
func newCompletion(s Streams) *cobra.Command {
	write := map[string]func(root *cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(s.Out, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(s.Out) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(s.Out, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(s.Out) },
	}
	shells := slices.Sorted(maps.Keys(write))
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: message("Print a completion script for bash, zsh, fish or PowerShell"),
		Long: `Print a script that lets a shell complete haft's commands and flags. Packages
install it; otherwise save it where your shell looks for it, and start a new shell:

  bash (needs the package bash-completion)
    haft completion bash > ~/.local/share/bash-completion/completions/haft
  zsh (in a folder of $fpath)
    haft completion zsh > "${fpath[1]}/_haft"
  fish
    haft completion fish > ~/.config/fish/completions/haft.fish
  PowerShell (in the file that $PROFILE names)
    haft completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: shells,
		Args:      exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			if f := write[args[0]]; f != nil {
				return f(c.Root())
			}
			return usageError{fmt.Errorf("there is no completion for %q. Choose one of %s", args[0], strings.Join(shells, ", "))}
		},
	}
}
