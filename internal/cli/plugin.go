package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/harness/market"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/spf13/cobra"
)

type pluginFlags struct {
	Streams
	json, yes, dryRun, check bool
	scope, digest            string
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

const digestHelp = "install only this content, as --dry-run names it"

const yesHelp = "do not ask about hooks and MCP servers, which run programs"

func (f *pluginFlags) newInstall() *cobra.Command {
	c := &cobra.Command{
		Use: "install NAME[@MARKETPLACE]", Aliases: []string{"i"}, Short: message("Install a plugin from a marketplace"), Args: exactly(1),
		Long: `Install a plugin from a marketplace that you have added: its folder is copied to
~/.haft/plugins. The contents of the plugin are shown first, and none of them are run. A
plugin with hooks or MCP servers runs programs in your sessions, so you are asked first;
without a terminal, use --yes. Sessions that start afterwards use the plugin.`,
		Example: "  haft plugin marketplace add https://example.com/tools.git\n  haft plugin install review@tools --dry-run\n  haft plugin install review@tools",
		RunE: func(c *cobra.Command, args []string) error {
			if _, ok := scopes[f.scope]; !ok && f.scope != "user" {
				return usageError{fmt.Errorf("unknown scope %q: use user, project or local", f.scope)}
			}
			s, err := f.store("install")
			if err != nil {
				return err
			}
			done, err := f.install(c.Context(), s, args[0])
			if err == nil && f.json {
				err = writeJSON(f.Out, done)
			}
			return err
		},
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, yesHelp)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what the plugin contains and install nothing")
	c.Flags().StringVarP(&f.scope, "scope", "s", "user", "where it is enabled: user, everywhere; project or local, only in this project, by its shared or your own settings for it")
	c.Flags().StringVar(&f.digest, "digest", "", digestHelp)
	return c
}

func (f *pluginFlags) newUpdate() *cobra.Command {
	c := &cobra.Command{
		Use: "update [NAME…]", Short: message("Update plugins from their marketplaces"), Args: cobra.ArbitraryArgs,
		Long: `Update plugins from their marketplaces, which are fetched again first. Without a name,
update all plugins that haft has installed. What would change is shown first. If hooks or MCP servers change, or run files in
the plugin, you are asked; without a terminal, use --yes. A plugin that cannot be updated stays as it is.`,
		RunE: func(c *cobra.Command, args []string) error {
			if f.check {
				return f.checkUpdates(c.Context())
			}
			return f.update(c.Context(), args)
		},
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, yesHelp)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change and install nothing")
	c.Flags().BoolVar(&f.check, "check", false, "only list what has updates; sessions do so once a day if plugins.checkForUpdates is set")
	c.Flags().StringVar(&f.digest, "digest", "", digestHelp)
	return c
}

// installed is what was done, as programs read it.
type installed struct {
	ID      string        `json:"id"`
	Version string        `json:"version,omitempty"`
	Before  string        `json:"previous_version,omitempty"`
	Commit  string        `json:"commit,omitempty"`
	Digest  string        `json:"digest"`
	Diff    string        `json:"diff,omitempty"`
	Status  string        `json:"status"` // installed, updated, current or not installed
	Brings  market.Brings `json:"brings"`
}

func (f *pluginFlags) install(ctx context.Context, s *market.Store, id string) (done installed, err error) {
	p, err := s.Prepare(ctx, id)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	warnWritten(f.Err, p.Problems, nil)
	done = installed{ID: p.ID(), Version: p.Version, Commit: p.Commit, Digest: p.Digest, Status: "installed", Brings: p.Brings}
	if p.Replaces != nil {
		done.Status, done.Before = "updated", p.Replaces.Version
	}
	if p.Current() {
		done.Status = "current"
		f.say("%s is up to date.", described(p.ID(), p.Version))
		return done, nil
	}
	f.say("%s contains:", described(p.ID(), p.Version))
	f.showBrings(p.Brings)
	if done.Diff, err = p.Diff(); err != nil {
		return done, err
	}
	for line := range strings.Lines(shownDiff(done.Diff)) {
		f.say("%s", strings.TrimSuffix(line, "\n"))
	}
	f.say("digest: %s", p.Digest)
	if f.digest != "" && f.digest != p.Digest {
		return done, fmt.Errorf("could not install %s: its content has the digest %s, not the one that was asked for; review it with --dry-run", p.ID(), p.Digest)
	}
	if f.dryRun {
		done.Status = "not installed"
		return done, nil
	}
	if err := f.agree(ctx, p); err != nil {
		return done, err
	}
	if err := p.Install(); err != nil {
		return done, fmt.Errorf("could not install %s: %w", id, err)
	}
	if err := f.enableIn(ctx, p); err != nil {
		return done, err
	}
	if done.Before != "" && done.Before != done.Version {
		f.say("Updated from %s.", done.Before)
		return done, nil
	}
	f.say("%s.", strings.ToUpper(done.Status[:1])+done.Status[1:])
	return done, nil
}

// maxDiff is how many lines of a difference are shown; JSON has all of it.
const maxDiff = 400

func shownDiff(diff string) string {
	lines := strings.SplitAfter(diff, "\n")
	if len(lines) <= maxDiff {
		return diff
	}
	return strings.Join(lines[:maxDiff], "") + fmt.Sprintf("(%d more lines; see them all with --json)\n", len(lines)-maxDiff)
}

func described(id, version string) string {
	if version == "" {
		return id
	}
	return id + " " + version
}

// say writes a line for users.
func (f *pluginFlags) say(format string, args ...any) {
	if !f.json {
		fmt.Fprintln(f.Out, visible.Indented(fmt.Sprintf(format, args...)))
	}
}

func (f *pluginFlags) showBrings(b market.Brings) {
	for _, kind := range []struct {
		title string
		names []string
	}{{"skills", b.Skills}, {"commands", b.Commands}, {"agents", b.Agents}, {"output styles", b.Styles}} {
		if len(kind.names) > 0 {
			f.say("  %s: %s", kind.title, strings.Join(kind.names, ", "))
		}
	}
	for _, h := range b.Hooks {
		f.say("  hook %s: %s", h.Name, h.Runs)
	}
	for _, s := range b.Servers {
		f.say("  MCP server %s: %s", s.Name, s.Runs)
	}
}

// agree asks about programs that the plugin would run and that are new or may have changed.
func (f *pluginFlags) agree(ctx context.Context, p *market.Plan) error {
	if f.yes || len(p.Programs) == 0 {
		return nil
	}
	if f.json || !tui.IsTerminal(f.In, f.Out) {
		return usageError{fmt.Errorf("could not install %s: its hooks and MCP servers run programs in your sessions. Review them with --dry-run, then install it with --yes", p.ID())}
	}
	agreed, err := f.agrees(ctx, "Its hooks and MCP servers run these programs in your sessions. Install it?", "Nothing was installed.")
	if err != nil || agreed {
		return err
	}
	return errors.New("nothing was installed")
}

func (f *pluginFlags) update(ctx context.Context, names []string) error {
	s, err := f.store("update")
	if err != nil {
		return err
	}
	chosen := s.Installed()
	if len(names) > 0 {
		chosen = nil
	}
	for _, name := range names {
		r, err := s.Find(name)
		if err != nil {
			return usageError{err}
		}
		chosen = append(chosen, r)
	}
	all := []installed{}
	errs := f.refresh(ctx, s, chosen)
	for _, r := range chosen {
		done, err := f.install(ctx, s, r.ID())
		if err == nil {
			all = append(all, done)
		}
		errs = append(errs, err)
	}
	if f.json {
		errs = append(errs, writeJSON(f.Out, all))
	} else if len(chosen) == 0 {
		f.say("haft has not installed any plugins.")
	}
	return errors.Join(errs...)
}

// checkUpdates lists what has updates.
func (f *pluginFlags) checkUpdates(ctx context.Context) error {
	s, err := f.store("update")
	if err != nil {
		return err
	}
	found, err := s.Check(ctx)
	if f.json {
		return errors.Join(err, writeJSON(f.Out, found))
	}
	for _, u := range found {
		f.say("%s", u)
	}
	return err
}

// refresh fetches the marketplaces of plugins, each once.
func (f *pluginFlags) refresh(ctx context.Context, s *market.Store, chosen []plugin.Record) (errs []error) {
	var seen []string
	for _, r := range chosen {
		if slices.Contains(seen, r.Marketplace) {
			continue
		}
		seen = append(seen, r.Marketplace)
		if _, err := s.Update(ctx, r.Marketplace); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (f *pluginFlags) newRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"uninstall", "rm"}, Short: message("Remove a plugin that haft has installed"), Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := f.store("remove")
			if err != nil {
				return err
			}
			r, err := s.Uninstall(c.Context(), args[0])
			if err != nil {
				return err
			}
			return f.changed(r, "removed")
		},
	}
}

// changed reports what was done to a plugin.
func (f *pluginFlags) changed(r plugin.Record, status string) error {
	if f.json {
		return writeJSON(f.Out, map[string]string{"id": r.ID(), "status": status})
	}
	f.say("%s: %s", r.ID(), status)
	return nil
}

// newSwitch makes the command that enables or disables a plugin.
func (f *pluginFlags) newSwitch(word string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: word + " NAME", Short: strings.ToUpper(word[:1]) + word[1:] + " an installed plugin, through enabledPlugins in your settings", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := f.store(word)
			if err != nil {
				return err
			}
			r, err := s.Find(args[0])
			if err != nil {
				return usageError{err}
			}
			p, err := project.Open(nil)
			if err != nil {
				return err
			}
			target, err := p.Target(settings.User)
			if err != nil {
				return err
			}
			if err := editFile(c.Context(), target, putEnabled(r.ID(), on)); err != nil {
				return err
			}
			return f.changed(r, word+"d")
		},
	}
}

// enableIn enables a plugin for one project only, if that is wanted. One that was there
// before stays as it is elsewhere.
func (f *pluginFlags) enableIn(ctx context.Context, plan *market.Plan) error {
	if f.scope == "" || f.scope == "user" {
		return nil
	}
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	places := map[settings.Source]bool{scopes[f.scope]: true}
	if plan.Replaces == nil {
		places[settings.User] = false
	}
	for source, on := range places {
		target, err := p.Target(source)
		if err != nil {
			return err
		}
		if err := editFile(ctx, target, putEnabled(plan.ID(), on)); err != nil {
			return err
		}
	}
	f.say("Enabled in this project only. If haft warns that its settings are not trusted, review and trust them with: haft trust")
	return nil
}

// scopes are the settings that a plugin can be enabled in.
var scopes = map[string]settings.Source{"project": settings.Project, "local": settings.Local}

func putEnabled(id string, on bool) edit {
	return func(document map[string]json.RawMessage) []patchOp {
		var ops []patchOp
		if document["enabledPlugins"] == nil {
			ops = append(ops, patchOp{"add", "/enabledPlugins", struct{}{}})
		}
		return append(ops, patchOp{"add", pointer("enabledPlugins", id), on})
	}
}

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
of a git repository, which is cloned; OWNER/NAME of a GitHub repository; or the https address
of a marketplace.json, whose plugins are elsewhere. #REF after the address of a repository
chooses a branch or tag.`,
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
