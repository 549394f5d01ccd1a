package project

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/guard/trust"
)

// filter leaves out what the user has not agreed to. Where that cannot be known,
// nothing of the project counts but what makes haft more careful.
func (p *Project) filter() error {
	var err error
	if p.Folder, err = p.trusting(); err != nil || p.Folder == nil {
		p.Counts = trust.Without(p.Settings)
		if err == nil && p.Home == "" {
			p.Held, err = p.heldGuards()
		}
		return err
	}
	all := trust.Without(p.Settings).Flag("enableAllProjectMcpServers") // by the user's own word
	p.Folder.Lend(slices.DeleteFunc(p.Folder.Items(p.Settings), func(i trust.Item) bool {
		return !p.lends(i.Kind) && !(all && i.Kind == trust.Server && filepath.Base(i.Origin.File) == ".mcp.json")
	})...)
	p.Counts, p.Held, err = p.Folder.Filter(p.Settings)
	if p.Options.IgnoreProjectHooks || p.hooksOff() {
		for i := range p.Held {
			p.Held[i].Guards = false // the user has decided to do without
		}
	}
	return err
}

// heldGuards are the hooks that guard the project and are left out because there is
// nowhere to keep trust.
func (p *Project) heldGuards() ([]trust.Held, error) {
	folder, err := trust.NewStore("").Folder(p.Dir)
	if err != nil || p.Options.IgnoreProjectHooks || p.hooksOff() {
		return nil, err
	}
	_, held, err := folder.Filter(p.Settings)
	return slices.DeleteFunc(held, func(h trust.Held) bool { return !h.Guards }), err
}

// trusting returns the project as the place that trust belongs to; nil if there is
// nowhere to keep trust and nobody trusts it for this session.
func (p *Project) trusting() (*trust.Folder, error) {
	store := p.Options.Trust
	if store == nil {
		path, _ := trust.DefaultPath() // without one there is nowhere to keep it
		store = trust.NewStore(path)
		if path == "" && !p.lends(trust.Hook) {
			return nil, nil
		}
	}
	folder, err := store.Folder(p.Dir)
	if errors.Is(err, trust.ErrInside) { // a home folder
		p.Own = true
		if !p.lends(trust.Hook) {
			return nil, nil
		}
		return trust.NewStore("").Folder(p.Dir)
	}
	return folder, err
}

// lends reports whether items of a kind are trusted for this session as they are now:
// all of them, or what a program has asked for.
func (p *Project) lends(kind trust.Kind) bool {
	return p.Options.TrustProject || p.Options.Vouched && kind == trust.Hook
}

// guarded refuses to run anything without hooks of the project that guard something:
// the project relies on them, and nobody has decided to do without.
func (p *Project) guarded() error {
	if p.Options.AsksTrust {
		return nil
	}
	if u := trust.NewUnguarded(p.Dir, p.Held); u != nil {
		return &UsageError{u}
	}
	return nil
}

// hooksOff reports whether the user or an administrator has turned hooks of projects
// off.
func (p *Project) hooksOff() bool {
	return p.Counts.Flag("disableAllHooks") || p.Counts.ManagedFlag("disableAllHooks") || p.Counts.ManagedFlag("allowManagedHooksOnly")
}
