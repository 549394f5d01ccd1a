package harness

import (
	"encoding/json"
	"slices"

	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/knowledge/prompt"
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

// Pool returns the tools outside of a conversation. Calls runs what skills and commands ask
// for through the pipeline; nil lets them run nothing.
func (w *World) Pool(calls prompt.Calls) *Pool {
	builtins := w.builtins
	builtins.Calls = calls
	return &Pool{world: w, builtins: builtins, lead: w.lead}
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

// mayUse reports whether no rule denies a call by its name.
func (w *World) mayUse(toolName, parameter string) func(string) bool {
	return func(name string) bool {
		input, err := json.Marshal(map[string]string{parameter: name})
		if err != nil {
			return false
		}
		v := w.Engine.Policy().Decide(tool.Case{Call: &tool.Call{Tool: toolName, Input: input}})
		return v.Behavior != tool.Deny || v.Rule == ""
	}
}
