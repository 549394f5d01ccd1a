package harness

import (
	"slices"

	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/tool"
)

// A Pool is the tools that a conversation or a command has: haft's own, acting on a world,
// limited by the rules and the main agent. It does not change.
type Pool struct {
	world    *World
	builtins builtin.World
	lead     *agentdef.Definition
	loading  loading // how tools are described to the model
}

// Tools returns haft's own tools, whether a rule denies them or not.
func (p *Pool) Tools() []tool.Tool { return p.builtins.Tools() }

// Set assembles the pool as a session would, with foreign tools after haft's own.
func (p *Pool) Set(session *tool.Session, foreign ...tool.Tool) *tool.Set {
	return p.set(session, foreign, p.world.Engine.Policy().Denies)
}

// SetForManualCall returns the set for judging a call that a user has typed: set itself, or
// one that contains the tool even if a rule denies it completely. A model does not have to
// know such a tool, but a user who types its name should read which rule denies it.
func (p *Pool) SetForManualCall(name string, set *tool.Set, foreign ...tool.Tool) *tool.Set {
	if set.Lookup(name) == nil {
		if all := p.set(set.Session(), foreign, nil); all.Lookup(name) != nil {
			return all.Reveal(name)
		}
	}
	return set
}

func (p *Pool) set(session *tool.Session, foreign []tool.Tool, denied func(*tool.Tool) bool) *tool.Set {
	project := p.world.Project
	opts := p.loading.setOptions(session != nil && session.Flags[mcpresource.Flag])
	opts.Only, opts.Denied, opts.Redirect = project.Only(p.lead), denied, project.Options.Redirect
	if project.Options.ToolHost != nil {
		opts.Only, opts.Denied = elsewhere(opts.Only, denied)
	}
	tools := p.builtins.Tools()
	for _, t := range tools {
		opts.Known = append(opts.Known, t.Name)
	}
	return tool.NewSet(session, tools, slices.Concat(p.world.ownTools(), foreign), &opts)
}

// elsewhere returns which tools of haft's own a set keeps whose tools run on another machine,
// and which tools of that machine it leaves out: only and denied are about both.
func elsewhere(only []string, denied func(*tool.Tool) bool) ([]string, func(*tool.Tool) bool) {
	kept := slices.DeleteFunc(builtin.Conversational(), func(name string) bool { return only != nil && !slices.Contains(only, name) })
	return kept, func(t *tool.Tool) bool {
		name, there := nameThere(t)
		if there && only != nil && !slices.Contains(only, name) {
			return true
		}
		return denied != nil && (denied(t) || there && denied(&tool.Tool{Name: name}))
	}
}
