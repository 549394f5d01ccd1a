package harness

import (
	"context"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/tool"
)

// CheckRule says what is wrong with a rule. With one that denies or asks and names no tool,
// no session would start.
func CheckRule(r permission.Rule) error {
	if err := r.Check(); err != nil || r.Behavior == tool.Allow {
		return err
	}
	return project.Misnamed(r)
}

// AddRule saves a rule in a scope and applies it from now on.
func (c *Conversation) AddRule(ctx context.Context, b tool.Behavior, text, scope string) error {
	rule := permission.Rule{Text: text, Behavior: b, Origin: settings.Origin{Source: settings.Session}}
	if err := CheckRule(rule); err != nil {
		return err
	}
	if scope != "session" {
		source, err := settings.ParseSource(scope)
		if err != nil {
			return err
		}
		target, err := c.World.Project.Target(source)
		if err != nil {
			return err
		}
		if err := c.World.Project.Keep(ctx, source, rule); err != nil {
			return err
		}
		rule.Origin = settings.Origin{Source: source, File: target.Path}
	}
	c.World.Engine.Grant(rule)
	return nil
}

// Rules are the rules in force.
func (c *Conversation) Rules() []permission.Rule { return c.World.Engine.Rules() }

// RemoveRule takes a rule back, out of its file too. An administrator's stays.
func (c *Conversation) RemoveRule(ctx context.Context, rule permission.Rule) error {
	switch rule.Origin.Source {
	case settings.Managed:
		return fmt.Errorf("%s is set by your administrator and cannot be removed here", rule.Text)
	case settings.Local, settings.Project, settings.User:
		if err := c.World.Project.Forget(ctx, rule.Origin.Source, rule); err != nil {
			return err
		}
	}
	c.World.Engine.RevokeAll(func(r permission.Rule) bool {
		return r.Text == rule.Text && r.Behavior == rule.Behavior && r.Origin.Source == rule.Origin.Source && r.Origin.File == rule.Origin.File
	})
	return nil
}

// RulesFile says in which file the rules of a scope are stored, for users.
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
