package project

import (
	"context"
	"errors"
	"os"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
)

// ErrRoot is why a session does not begin that would run as root and ask nobody.
var ErrRoot = errors.New("the permission mode bypassPermissions is not available to root, who can change everything on this machine: run haft as another user, set IS_SANDBOX=1 in a disposable container, or use --i-know")

// RefusesRoot reports whether this process runs as root and nobody has said that this
// is meant.
func (p *Project) RefusesRoot() bool {
	return os.Geteuid() == 0 && os.Getenv("IS_SANDBOX") != "1" && !p.Options.AsRoot
}

// MayBypass reports whether the user who started the session lets it ask nobody.
func (p *Project) MayBypass() bool {
	return p.Options.MayBypass || p.Options.Mode == string(permission.Bypass)
}

// Forget takes a rule out of the settings of a source: out of the file that it is from, if it
// says so.
func (p *Project) Forget(ctx context.Context, source settings.Source, r permission.Rule) error {
	target, err := p.Target(source)
	if err != nil {
		return err
	}
	if r.Origin.File != "" {
		target.Path = r.Origin.File
	}
	return settings.RemoveRule(ctx, target, r.Behavior, r.Text)
}

// Keep writes a rule into the settings of a source. Who chose it trusts it.
func (p *Project) Keep(ctx context.Context, source settings.Source, r permission.Rule) error {
	if err := r.Check(); err != nil {
		return err
	}
	target, err := p.Target(source)
	if err != nil {
		return err
	}
	if err := settings.AddRule(ctx, target, r.Behavior, r.Text); err != nil {
		return err
	}
	if source == settings.Local {
		_ = Untracked(target.Path) // the rule counts whether git ignores the file or not
	}
	if p.Folder != nil && source.InProject() {
		return p.Folder.Grant(ctx, p.Folder.Rule(r.Text))
	}
	return nil
}
