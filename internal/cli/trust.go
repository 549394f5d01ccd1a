package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/text/visible"
)

type trustFlags struct {
	Streams
	json, all, revoke bool
}

func newTrust(s Streams) *cobra.Command {
	f := &trustFlags{Streams: s}
	c := &cobra.Command{
		Use:   "trust [HASH…]",
		Short: message("Review what this project's settings ask for, and trust it"),
		Long: message(`Review what this project's settings ask for, and trust it. Until you do, the settings cannot
run anything, connect to anything or loosen a restriction; deny and ask rules always apply.

Each item is trusted separately, exactly as it is now: if the project
changes it, you are asked again. In a terminal, you are asked about the items that are
not trusted yet. Elsewhere, name items by the first characters of their hash, or use --all
after reading the list.`),
		Example: "  haft trust\n  haft trust 3f9a1c\n  haft trust --all\n  haft trust --revoke --all",
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().BoolVar(&f.all, "all", false, "trust all items; with --revoke, revoke trust in all of them")
	c.Flags().BoolVar(&f.revoke, "revoke", false, "revoke trust")
	return c
}

// projectTrust are the flags of commands that run tools without a conversation: what to do
// about a project that is not trusted.
type projectTrust struct{ project, ignoreHooks, ignoreBadRules bool }

func (t *projectTrust) define(fs *pflag.FlagSet) {
	fs.BoolVar(&t.project, "trust-project", false, "trust everything in the project as it is now, for this run")
	fs.BoolVar(&t.ignoreHooks, "ignore-project-hooks", false, "run without the project's hooks")
	fs.BoolVar(&t.ignoreBadRules, "ignore-bad-rules", false, "start even if a deny or ask rule is invalid")
}

// itemInfo is an item as programs read it.
type itemInfo struct {
	trust.Item
	Trusted bool `json:"trusted"`
}

// notInSession refuses to let a session extend its own rights: its commands run with HAFT
// set.
func notInSession(command string) error {
	if os.Getenv("HAFT") == "" {
		return nil
	}
	return usageError{fmt.Errorf("could not run 'haft %s': a haft session may not change its own trust, rules or plugins. Run the command in a terminal yourself", command)}
}

func (f *trustFlags) run(ctx context.Context, hashes []string) error {
	p, err := project.Open(nil)
	if err != nil {
		return err
	}
	if p.Folder == nil {
		return errors.New("there is no config folder to save trust in: set HOME or XDG_CONFIG_HOME")
	}
	items := p.Items()
	if len(hashes) == 0 && !f.all {
		return f.look(ctx, p, items)
	}
	if err := notInSession("trust"); err != nil {
		return err
	}
	chosen := items
	if !f.all {
		if chosen, err = pickItems(items, hashes); err != nil {
			return err
		}
	}
	switch {
	case f.revoke && f.all:
		err = p.Folder.RevokeAll(ctx)
	case f.revoke:
		err = p.Folder.Revoke(ctx, chosen...)
	default:
		err = p.Folder.Grant(ctx, chosen...)
	}
	if err != nil {
		return err
	}
	if !f.revoke {
		f.tellUnbound(chosen)
	}
	return f.list(p, items)
}

// tellUnbound says which of the items stay untrusted, because what they run cannot be known
// before they run.
func (f *trustFlags) tellUnbound(items []trust.Item) {
	for _, i := range items {
		if i.Unbound != "" {
			fmt.Fprintln(foldedTo(f.Err), f.words().T("Not saved: %s %s runs something whose content haft cannot check (%s). You are asked at each start; without a terminal, use --trust-project.",
				i.Kind, visible.Indented(i.Name), visible.Indented(i.Unbound)))
		}
	}
}

// look shows the items and asks about those that are not trusted, or says how to trust them
// if no one can be asked.
func (f *trustFlags) look(ctx context.Context, p *project.Project, items []trust.Item) error {
	if err := f.list(p, items); err != nil || f.json || f.revoke {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(items), func(i trust.Item) bool {
		ok, err := p.Folder.Trusted(i)
		return ok || err != nil || i.Unbound != ""
	})
	f.tellUnbound(items)
	words := f.words()
	if len(open) == 0 {
		return nil
	}
	if !tui.IsTerminal(f.In, f.Out) {
		fmt.Fprintln(foldedTo(f.Err), words.T("Not trusted: %s. Trust all with 'haft trust --all', or one with 'haft trust %.8s'.", words.Count(len(open), "item"), open[0].Hash))
		return nil
	}
	if err := notInSession("trust"); err != nil {
		return err
	}
	undone := words.T("Nothing was trusted. To trust it later, run 'haft trust' again.")
	agreed, err := f.agrees(ctx, words.T("Trust %s, exactly as shown?", words.Count(len(open), "item")), undone)
	if err != nil {
		return err
	}
	if !agreed {
		fmt.Fprintln(f.folded(), undone)
		return nil
	}
	if err := p.Folder.Grant(ctx, open...); err != nil {
		return err
	}
	fmt.Fprintln(f.folded(), words.T("Trusted. To revoke it, run 'haft trust --revoke --all'. To start a conversation, run haft."))
	return nil
}

// pickItems finds each item by the beginning of its hash.
func pickItems(items []trust.Item, hashes []string) ([]trust.Item, error) {
	var chosen []trust.Item
	for _, h := range hashes {
		var found []trust.Item
		for _, i := range items {
			if len(h) >= 4 && len(i.Hash) >= len(h) && i.Hash[:len(h)] == h {
				found = append(found, i)
			}
		}
		if len(found) != 1 {
			return nil, usageError{fmt.Errorf("%q matches %d items: give at least 4 characters of one hash from 'haft trust'", h, len(found))}
		}
		chosen = append(chosen, found...)
	}
	return chosen, nil
}

func (f *trustFlags) list(p *project.Project, items []trust.Item) error {
	infos := []itemInfo{}
	for _, i := range items {
		ok, err := p.Folder.Trusted(i)
		if err != nil {
			return err
		}
		infos = append(infos, itemInfo{i, ok && i.Unbound == ""}) // what cannot be bound is trusted for a session only
	}
	if f.json {
		return writeJSON(f.Out, infos)
	}
	out := f.folded()
	if len(infos) == 0 {
		fmt.Fprintln(out, f.words().T("Nothing in %s needs trust.", p.Dir))
	}
	for _, i := range infos {
		mark := " "
		if i.Trusted {
			mark = "✓"
		}
		fmt.Fprintf(out, "%s %.8s  %s\n", mark, i.Hash, visible.Indented(i.String()))
		if len(i.Files) > 0 {
			fmt.Fprintf(out, "            %s\n", f.words().T("files: %s", visible.Indented(strings.Join(i.Files, ", "))))
		}
	}
	return nil
}
