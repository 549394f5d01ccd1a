package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// permissions is what the loop may change about the policy.
type permissions struct {
	*permission.Engine
	project *Project
}

// SetMode changes the mode. A mode that the settings switch off stays off, and a
// session that was not started for it never comes to ask nobody.
func (p permissions) SetMode(mode string) error {
	m, err := permission.ParseMode(mode)
	by, off := p.project.Counts.Disabled(string(m))
	switch {
	case err != nil:
		return err
	case off:
		return fmt.Errorf("the permission mode %s is switched off by %s", m, by)
	case m == permission.Bypass && p.project.refusesRoot():
		return errRoot
	case m == permission.Bypass && !p.project.mayBypass():
		return fmt.Errorf("the permission mode %s is only for sessions that were started with --dangerously-skip-permissions or --allow-dangerously-skip-permissions", m)
	}
	p.Engine.SetMode(m)
	return nil
}

// resumeMode goes on in the mode that a session was left in, if that is more careful
// than the one that it would begin with and nobody has asked for another now. It
// says so.
func (w *World) resumeMode(left string) (told string) {
	now := w.Engine.Policy().Mode()
	was, err := permission.ParseMode(left)
	if left == "" || err != nil || w.opts.Mode != "" || slices.Index(permission.Modes(), was) >= slices.Index(permission.Modes(), now) {
		return ""
	}
	w.Engine.SetMode(was)
	return fmt.Sprintf("The session goes on in the permission mode %s, as it was left.", was)
}

// errRoot is why a session does not begin that would run as root and ask nobody.
var errRoot = errors.New("the permission mode bypassPermissions is refused for root, who can change everything on this machine: run haft as another user, set IS_SANDBOX=1 in a container that may be lost, or use --i-know")

// refusesRoot reports whether this process runs as root and nobody has said that this
// is meant.
func (p *Project) refusesRoot() bool {
	return os.Geteuid() == 0 && os.Getenv("IS_SANDBOX") != "1" && !p.opts.AsRoot
}

// mayBypass reports whether the person who started the session lets it ask nobody.
func (p *Project) mayBypass() bool {
	return p.opts.MayBypass || p.opts.Mode == string(permission.Bypass)
}

// Allow lends rules that a result brings, such as those of a skill.
func (p permissions) Allow(rules []string) (func(), error) {
	var lent []permission.Rule
	for _, text := range rules {
		r := permission.Rule{Text: text, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}}
		if err := r.Check(); err != nil {
			return nil, err
		}
		lent = append(lent, r)
	}
	return p.AddTemporary(lent...), nil
}

// Forget takes a rule out of the settings of a source.
func (p *Project) Forget(ctx context.Context, source settings.Source, r permission.Rule) error {
	target, err := p.Target(source)
	if err != nil {
		return err
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
	if p.Folder != nil && source.InProject() {
		return p.Folder.Grant(ctx, p.Folder.Rule(r.Text))
	}
	return nil
}
