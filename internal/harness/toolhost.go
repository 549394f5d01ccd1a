package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// stateToolHost is the name under which a session keeps where its tools run.
const stateToolHost = "toolsOn"

// sameToolHost refuses to continue a session on this machine whose tools ran on another one:
// the model would take the files here for those there.
func (w *World) sameToolHost(before string) error {
	now := w.Project.Options.ToolHost
	switch {
	case before != "" && now == nil:
		return &project.UsageError{Err: fmt.Errorf("cannot continue here: the tools of this session run on %s. Add --tools-on '%[1]s'", before)}
	case before != "" && now.Address != before:
		w.link.Warn("toolhost", fmt.Sprintf("The tools of this session ran on %s before, and now run on %s.", before, now.Address))
	}
	return nil
}

// awaitToolHost connects to the machine where the tools run, so that the first request has
// them; a conversation without them does not begin. Version is that of this haft.
func (c *Conversation) awaitToolHost(ctx context.Context, version string) error {
	host := c.World.Project.Options.ToolHost
	if host == nil {
		return nil
	}
	status, err := c.MCP.AwaitToolHost(ctx)
	if err != nil {
		return fmt.Errorf("could not start the tools on %s: %w", host.Address, err)
	}
	if theirs := status.Info; theirs != nil && theirs.Version != version && isNumbered(theirs.Version) && isNumbered(version) {
		c.World.link.Warn("toolhost", fmt.Sprintf("%s has haft %s, and this is haft %s: install the same version on both.", host.Address, theirs.Version, version))
	}
	c.MCP.Refresh()
	return nil
}

// isNumbered reports whether a version says which release it is.
func isNumbered(version string) bool {
	return version != "" && version[0] >= '0' && version[0] <= '9'
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

// nameThere is the name that a tool of the tool host has there; false if it is not one.
func nameThere(t *tool.Tool) (string, bool) {
	name, ok := t.Meta["tool"].(string)
	return name, ok && t.Source == "mcp:"+toolhost.Name
}

// mayHave reports whether an agent may have a tool. A definition that names Read means the one
// of the tool host, if the tools run there; a denial by either name counts.
func (w *World) mayHave(d agentdef.Definition, t *tool.Tool) bool {
	name, there := nameThere(t)
	if !there || w.Project.Options.ToolHost == nil {
		return hasTool(d, t.Name)
	}
	all := d
	all.Tools = nil
	return all.Has(t.Name) && all.Has(name) && (d.Has(t.Name) || d.Has(name))
}

// judgeElsewhere lets the rules that deny or ask about haft's own tools count for those of the
// tool host, too. Everything else the haft there decides.
func (w *World) judgeElsewhere(policy func() *permission.Policy, judge sched.Judge) sched.Judge {
	if w.Project.Options.ToolHost == nil {
		return judge
	}
	known := builtin.Unattached()
	return sched.JudgeFunc(func(ctx context.Context, c tool.Case) tool.Verdict {
		if c.Tool == nil {
			return judge.Judge(ctx, c)
		}
		name, there := nameThere(c.Tool)
		i := slices.IndexFunc(known, func(t tool.Tool) bool { return t.Name == name })
		if !there || i < 0 {
			return judge.Judge(ctx, c)
		}
		call := *c.Call
		call.Tool = name
		v := policy().Decide(tool.Case{Tool: &known[i], Call: &call})
		if v.Rule != "" && v.Behavior != tool.Allow {
			return tool.Verdict{Behavior: v.Behavior, Message: v.Message, Reason: v.Reason, Rule: v.Rule, Origin: v.Origin}
		}
		return judge.Judge(ctx, c)
	})
}
