package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/harness/servers"
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

// The grants change what the tools of a conversation may do and reach.
type grants struct {
	records

	// Agent is the main agent. Prompts go through Send, and turns through Run, which handle
	// the MCP servers.
	Agent *agent.Agent
	// MCP are its servers.
	MCP *servers.Servers
}

// AddDirectories lets tools and MCP servers use more folders, for the rest of the session.
func (c *grants) AddDirectories(dirs []string) error {
	defer c.tellRoots()
	return c.World.AddDirectories(dirs)
}

// RemoveDirectories takes folders back. The project itself stays.
func (c *grants) RemoveDirectories(dirs []string) error {
	defer c.tellRoots()
	return c.World.RemoveDirectories(dirs)
}

func (c *grants) tellRoots() { c.MCP.SetRoots(c.World.Engine.Guard().Roots()) }

// AddRule saves a rule in a scope and applies it from now on.
func (c *grants) AddRule(ctx context.Context, b tool.Behavior, text, scope string) error {
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
func (c *grants) Rules() []permission.Rule { return c.World.Engine.Rules() }

// RemoveRule takes a rule back, out of its file too. An administrator's stays.
func (c *grants) RemoveRule(ctx context.Context, rule permission.Rule) error {
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
func (c *grants) RulesFile(scope string) string {
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

// change makes a change of the permissions that came with an answer.
func (c *grants) change(ctx context.Context, g tool.Grant) error {
	switch g.Change {
	case tool.SetMode:
		if g.Mode == "" {
			return errors.New("no permission mode is named")
		}
		return c.Agent.SetMode(g.Mode)
	case tool.AddFolders:
		return c.AddDirectories(g.Folders)
	case tool.RemoveFolders:
		return c.RemoveDirectories(g.Folders)
	case tool.AddRules, tool.ReplaceRules, tool.RemoveRules:
		return c.changeRules(ctx, g)
	}
	return fmt.Errorf("unknown permission update %q", g.Change)
}

// changeRules changes rules for the session and in its scope, all of them or none if one
// is wrong.
func (c *grants) changeRules(ctx context.Context, g tool.Grant) error {
	var list []permission.Rule
	for _, text := range g.Rules {
		rule := permission.Rule{Text: text, Behavior: g.Behavior, Origin: settings.Origin{Source: settings.Session}}
		if err := rule.Check(); err != nil {
			return fmt.Errorf("the rule %s: %w", text, err)
		}
		list = append(list, rule)
	}
	switch g.Change {
	case tool.RemoveRules:
		c.World.Engine.Revoke(list...)
		if g.Scope == "session" {
			return nil
		}
		source, err := settings.ParseSource(g.Scope)
		if err != nil {
			return err
		}
		for _, rule := range list {
			if err := c.World.Project.Forget(ctx, source, rule); err != nil {
				return err
			}
		}
		return nil
	case tool.ReplaceRules:
		c.World.Engine.RevokeAll(func(r permission.Rule) bool {
			return r.Behavior == g.Behavior && r.Origin.Source == settings.Session
		})
	}
	for _, rule := range list {
		if err := c.AddRule(ctx, rule.Behavior, rule.Text, g.Scope); err != nil {
			return fmt.Errorf("the rule %s: %w", rule.Text, err)
		}
	}
	return nil
}
