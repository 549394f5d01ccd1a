package cli

import (
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/harness/market"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/visible"
)

type pluginFlags struct {
	Streams
	json, yes, dryRun bool
}

func newPlugin(s Streams) *cobra.Command {
	f := &pluginFlags{Streams: s}
	c := group(&cobra.Command{
		Use: "plugin", Aliases: []string{"plugins"}, Short: message("Install, update, remove and list plugins"),
		Long: `Install, update, remove and list plugins: folders with skills, commands, agents,
output styles, hooks and MCP servers. haft looks for plugins in ~/.haft/plugins, where
'haft plugin install' puts them, in a project's .haft/plugins, and among the plugins that
Claude Code has installed and your settings enable. A project's plugin takes effect
once you trust its parts. See 'haft help skills'.`,
	})
	c.PersistentFlags().BoolVar(&f.json, "json", false, "write JSON")
	c.AddCommand(
		&cobra.Command{
			Use: "list", Short: message("List plugins"), Args: exactly(0),
			RunE: func(*cobra.Command, []string) error { return f.list() },
		},
		f.newInstall(), f.newUpdate(), f.newRemove(), f.newSwitch("enable", true), f.newSwitch("disable", false), f.newMarketplace(),
	)
	return c
}

// store is the user's, for a change that no session may make.
func (f *pluginFlags) store(command string) (*market.Store, error) {
	if err := notInSession("plugin " + command); err != nil {
		return nil, err
	}
	return openStore()
}

func openStore() (*market.Store, error) {
	home, _ := os.UserHomeDir() // the store reports that there is none
	return market.Open(home)
}

// pluginInfo is a plugin as programs read it.
type pluginInfo struct {
	plugin.Plugin
	Enabled bool `json:"enabled"`
}

func (f *pluginFlags) list() error {
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	off, problems := plugin.Load(p.Library.Disabled)
	warnWritten(f.Err, slices.Concat(p.Library.Problems, problems), nil)
	all := []pluginInfo{}
	for _, found := range p.Library.Plugins {
		all = append(all, pluginInfo{found, true})
	}
	for _, found := range off {
		all = append(all, pluginInfo{found, false})
	}
	if f.json {
		return writeJSON(f.Out, all)
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tSOURCE\tDESCRIPTION")
	for _, found := range all {
		from := found.Source.String()
		if found.ID != "" {
			from += ", " + found.ID
		}
		if !found.Enabled {
			from += " (disabled)"
		}
		fmt.Fprintln(w, visible.Indented(found.Name+"\t"+found.Version+"\t"+from+"\t"+short(found.Description)))
	}
	return w.Flush()
}
