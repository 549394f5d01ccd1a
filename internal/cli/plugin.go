package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/visible"
)

func newPlugin(s Streams) *cobra.Command {
	c := group(&cobra.Command{
		Use: "plugin", Aliases: []string{"plugins"}, Short: "List the plugins there are",
		Long: `List the plugins there are: folders in ~/.haft/plugins, in .haft/plugins of a project,
and those that Claude Code has installed and your settings enable. To add one, put its
folder there; to remove it, delete the folder. What a project's plugin brings counts
once you trust it. See docs/skills.md.`,
	})
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the plugins there are", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error { return listPlugins(s, asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.AddCommand(list)
	return c
}

func listPlugins(s Streams, asJSON bool) error {
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	warnWritten(s.Err, p.Library.Problems, nil)
	if asJSON {
		return writeJSON(s.Out, append([]plugin.Plugin{}, p.Library.Plugins...))
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tSOURCE\tDESCRIPTION")
	for _, found := range p.Library.Plugins {
		fmt.Fprintln(w, visible.Indented(found.Name+"\t"+found.Version+"\t"+found.Source.String()+"\t"+short(found.Description)))
	}
	return w.Flush()
}
