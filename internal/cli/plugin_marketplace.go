package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/harness/market"
	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/visible"
)

func (f *pluginFlags) newMarketplace() *cobra.Command {
	c := group(&cobra.Command{
		Use: "marketplace", Short: message("Add, list, update and remove marketplaces of plugins"),
		Long: `Add, list, update and remove marketplaces: folders or git repositories that list
plugins in .claude-plugin/marketplace.json. Adding one installs and runs nothing.
See 'haft help skills'.`,
	})
	c.AddCommand(
		&cobra.Command{
			Use: "add FOLDER|URL|OWNER/NAME", Short: message("Add a marketplace"), Args: exactly(1),
			Long: `Add a marketplace: a folder, which is read where it is; the https, ssh or file address
of a git repository, which is cloned; or OWNER/NAME of a GitHub repository. #REF after an
address chooses a branch or tag.`,
			Example: "  haft plugin marketplace add ./tools\n  haft plugin marketplace add https://example.com/tools.git#stable\n  haft plugin marketplace add example/tools",
			RunE: func(c *cobra.Command, args []string) error {
				s, err := f.store("marketplace add")
				if err != nil {
					return err
				}
				m, err := s.Add(c.Context(), args[0])
				if err != nil {
					return err
				}
				if f.json {
					return writeJSON(f.Out, m)
				}
				f.say("%s: added, with %s", m.Name, plural.Of(len(m.Plugins), "plugin"))
				f.showOffers(m)
				return nil
			},
		},
		&cobra.Command{
			Use: "list", Short: message("List marketplaces and the plugins they offer"), Args: exactly(0),
			RunE: func(*cobra.Command, []string) error { return f.listMarketplaces() },
		},
		&cobra.Command{
			Use: "update [NAME…]", Short: message("Fetch marketplaces again; without a name, all of them"), Args: cobra.ArbitraryArgs,
			RunE: func(c *cobra.Command, args []string) error {
				s, err := f.store("marketplace update")
				if err != nil {
					return err
				}
				all, err := s.Update(c.Context(), args...)
				if f.json {
					return errors.Join(err, writeJSON(f.Out, all))
				}
				for _, m := range all {
					f.say("%s: updated, with %s", m.Name, plural.Of(len(m.Plugins), "plugin"))
				}
				return err
			},
		},
		&cobra.Command{
			Use: "remove NAME", Aliases: []string{"rm"}, Short: message("Remove a marketplace; its installed plugins stay"), Args: exactly(1),
			RunE: func(c *cobra.Command, args []string) error {
				s, err := f.store("marketplace remove")
				if err != nil {
					return err
				}
				if err := s.Remove(c.Context(), args[0]); err != nil {
					return err
				}
				if f.json {
					return writeJSON(f.Out, map[string]string{"name": args[0], "status": "removed"})
				}
				f.say("%s: removed", args[0])
				return nil
			},
		},
	)
	return c
}

func (f *pluginFlags) listMarketplaces() error {
	s, err := openStore()
	if err != nil {
		return err
	}
	all := s.Marketplaces()
	if f.json {
		return writeJSON(f.Out, append([]market.Marketplace{}, all...))
	}
	if len(all) == 0 {
		f.say("No marketplaces are set up. Add one with 'haft plugin marketplace add'.")
	}
	for _, m := range all {
		f.say("%s  %s", m.Name, strings.TrimSpace(m.Source+" "+m.Ref))
		if m.Problem != "" {
			fmt.Fprintln(f.Err, visible.Indented("warning: the marketplace "+m.Name+" cannot be used: "+m.Problem))
		}
		f.showOffers(m)
	}
	return nil
}

func (f *pluginFlags) showOffers(m market.Marketplace) {
	for _, o := range m.Plugins {
		f.say("  %s", strings.TrimRight(described(o.Name+"@"+m.Name, o.Version)+"  "+short(o.Description), " "))
	}
}
