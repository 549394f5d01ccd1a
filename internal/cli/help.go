package cli

import (
	"os"

	"github.com/haftdev/haft/docs"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// newHelp replaces cobra's help command: a topic is a guide, as with git; the flags of a
// command are shown by its --help.
func newHelp(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "help [TOPIC | COMMAND]",
		Short: message("Read a guide or a command's help"),
		Long: message(`Read one of the guides that come with haft, or a command's help.

Without an argument, say what haft is and name the guides; 'haft help all' lists every
command, flag and guide. On a terminal, a long guide is shown in your pager
(the variable PAGER, or less); PAGER=cat prints it.`),
		Example: "  haft help permissions\n  haft help mcp add\n  haft help preview | less",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topicNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return s.help(c.Root(), args) },
	}
}

func topicNames() []string {
	var names []string
	for _, t := range docs.Topics() {
		names = append(names, t.Name)
	}
	return names
}

// pageWidth is the width of a terminal, up to a width that reads well.
func pageWidth(out any) int {
	const most = 100
	if file, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(file.Fd())); err == nil && w > 0 && w < most {
			return w
		}
	}
	return most
}
