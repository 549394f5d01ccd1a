package harness

import (
	"context"
	"strings"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// Grant keeps a rule that the user allows calls by, in a scope: session, local, project
// or user.
func (c *Conversation) Grant(ctx context.Context, text, scope string) error {
	rule := permission.Rule{Text: text, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}}
	if err := rule.Check(); err != nil {
		return err
	}
	if scope != "session" {
		source, err := settings.ParseSource(scope)
		if err != nil {
			return err
		}
		if err := c.World.Project.Keep(ctx, source, rule); err != nil {
			return err
		}
	}
	c.World.Engine.Grant(rule)
	return nil
}

// RulesFile says in which file the rules of a scope are kept, for people.
func (c *Conversation) RulesFile(scope string) string {
	source, err := settings.ParseSource(scope)
	if err != nil {
		return scope
	}
	target, err := c.World.Project.Target(source)
	if err != nil {
		return err.Error()
	}
	if rest, ok := strings.CutPrefix(target.Path, c.World.Project.Home+"/"); ok && c.World.Project.Home != "" {
		return "~/" + rest
	}
	return target.Path
}
