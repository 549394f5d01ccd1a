package harness

import (
	"context"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// permissions is what the loop may change about the policy.
type permissions struct{ *permission.Engine }

// SetMode changes the mode.
func (p permissions) SetMode(mode string) error {
	m, err := permission.ParseMode(mode)
	if err == nil {
		p.Engine.SetMode(m)
	}
	return err
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
	return p.Lend(lent...), nil
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
