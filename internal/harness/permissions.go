package harness

import (
	"fmt"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/tool"
)

// permissions is what the loop may change about the policy.
type permissions struct {
	*permission.Engine
	project *project.Project
}

// SetMode changes the mode. A mode that the settings disable stays disabled, and a session
// that was not started for it can never switch to bypassPermissions.
func (p permissions) SetMode(mode string) error {
	m, err := permission.ParseMode(mode)
	by, off := p.project.Counts.Disabled(string(m))
	switch {
	case err != nil:
		return err
	case off:
		return fmt.Errorf("the permission mode %s is disabled by %s", m, by)
	case m == permission.Bypass && p.project.RefusesRoot():
		return project.ErrRoot
	case m == permission.Bypass && !p.project.MayBypass():
		return fmt.Errorf("the permission mode %s is only available in sessions started with --dangerously-skip-permissions or --allow-dangerously-skip-permissions", m)
	}
	p.Engine.SetMode(m)
	return nil
}

// Allow adds rules that a result grants, such as those of a skill.
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
