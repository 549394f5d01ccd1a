package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"github.com/haftdev/haft/internal/card"
	"github.com/haftdev/haft/internal/plain"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/builtin"
	"github.com/haftdev/haft/wire"
)

// asked asks the user.
func (f *attachFlags) asked(ctx context.Context, r wire.Request) (any, error) {
	if f.watch || f.json {
		return nil, wire.Unsupported(r)
	}
	select {
	case <-f.greeted:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch q := r.(type) {
	case *wire.CanUseTool:
		if q.ToolName == "AskUserQuestion" {
			return f.askedToChoose(ctx, q)
		}
		return f.askedToAllow(ctx, q)
	case *wire.Elicitation:
		a, err := f.person.Elicit(ctx, mcp.Elicitation{Server: q.MCPServerName, Message: q.Message, Mode: q.Mode, URL: q.URL, Schema: q.RequestedSchema})
		return wire.ElicitationReply{Action: a.Action, Content: a.Content}, err
	}
	return nil, wire.Unsupported(r)
}

// askedToChoose asks what the model wants to know.
func (f *attachFlags) askedToChoose(ctx context.Context, q *wire.CanUseTool) (any, error) {
	v, err := f.person.Ask(ctx, tool.Case{Call: &tool.Call{Tool: q.ToolName, Input: q.Input}}, tool.Verdict{})
	return wire.PermissionAnswer{Behavior: wire.BehaviorAllow, UpdatedInput: v.Input}, err
}

// askedToAllow asks about a call, or whether the user agrees to a plan.
func (f *attachFlags) askedToAllow(ctx context.Context, q *wire.CanUseTool) (any, error) {
	v, err := f.person.Decide(ctx, questionOf(q))
	if err != nil {
		return nil, err
	}
	switch v.Behavior {
	case tool.Allow:
		return wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, nil
	case tool.Deny:
		return wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: cmp.Or(v.Message, v.Reason)}, nil
	}
	return nil, errors.New(v.Reason) // the user left: the question stays open elsewhere
}

// questionOf is what the terminal of the session asks, as far as this one was told what it is about.
func questionOf(q *wire.CanUseTool) string {
	c := tool.Case{
		Tool: tool.NewSet(everything(), builtin.Unattached(), nil, nil).Lookup(q.ToolName),
		Call: &tool.Call{Tool: q.ToolName, Input: q.Input, UseID: q.ToolUseID, Agent: q.AgentID},
	}
	if q.ChangeUnknown != "" {
		c.Unclear = errors.New(q.ChangeUnknown)
	}
	what := card.PreviewOf(c, nil)
	if c.Tool == nil && q.DisplayName != "" {
		what.Title = visible.Indented(q.DisplayName)
	}
	what.Destructive = false // what could be restored is known where the session runs
	if q.Change != nil {
		var hunks [][]patch.Hunk
		c.Preview, hunks = changeOf(q.Change)
		what.Files, what.Summary = card.ChangesWith(hunks, c.Preview, nil)
		switch {
		case len(q.Change.Files) == 0:
			what.Note = "It would change nothing."
		case c.Tool != nil && c.Tool.Command == nil:
			what.Text = "" // the change says it all
		}
	}
	return plain.About(c, what, tool.Verdict{Reason: q.DecisionReason}, nil)
}

// changeOf is a change without the contents of files, and the hunks of each file.
func changeOf(c *wire.Change) (p *tool.Preview, hunks [][]patch.Hunk) {
	p = &tool.Preview{Notes: c.Notes, Ran: c.Ran}
	for _, f := range c.Files {
		p.Files = append(p.Files, tool.FileChange{Path: f.Path, From: f.From, Before: versionOf(f.Before), After: versionOf(f.After), Folded: f.Folded, Protected: f.Protected})
		var list []patch.Hunk
		for _, h := range f.Hunks {
			h.Lines = slices.DeleteFunc(slices.Clone(h.Lines), func(l string) bool { return l == "" }) // each begins with its kind
			list = append(list, patch.Hunk(h))
		}
		hunks = append(hunks, list)
	}
	return p, hunks
}

func versionOf(v *wire.FileVersion) *tool.Version {
	if v == nil {
		return nil
	}
	mode, _ := strconv.ParseUint(v.Mode, 8, 12) // none is the usual one
	out := &tool.Version{Mode: fs.FileMode(mode).Perm(), Size: v.Size, Digest: v.SHA256, Binary: v.Binary}
	if v.Link {
		out.Mode |= fs.ModeSymlink
	}
	return out
}
