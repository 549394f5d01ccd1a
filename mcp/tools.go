package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/tool"
)

func (p *peer) tool(o *offer) tool.Tool {
	t := tool.Tool{
		Name:       o.name,
		Title:      p.name + " - " + o.title(),
		SearchHint: strings.NewReplacer("_", " ", "-", " ").Replace(p.name + " " + o.title()),
		Describe:   func(*tool.Session) string { return o.description },
		Input:      o.input,
		Output:     nil, // a result may have content beside what the server describes
		Marks:      func(*tool.Call) tool.Marks { return o.marks(p.cfg.Trusted) },
		Run:        func(ctx context.Context, c *tool.Call) (tool.Result, error) { return p.call(ctx, o, c) },
		MaxResult:  o.maxResult(p),
		Source:     "mcp:" + p.name,
		Meta:       o.meta(p),
	}
	var asks bool
	if json.Unmarshal(o.Meta["anthropic/requiresUserInteraction"], &asks); asks {
		t.Permission = func(context.Context, *tool.Call) tool.Verdict {
			return tool.Verdict{Behavior: tool.Ask, NeedsPerson: true, Reason: "the MCP server " + p.name + " requires the user to approve each call to " + o.Name}
		}
	}
	return t
}

func (o *offer) title() string {
	title := o.Title
	if title == "" && o.Annotations != nil {
		title = o.Annotations.Title
	}
	if title == "" {
		title = o.Name
	}
	title, _ = clean(title)
	return shorten(strings.Join(strings.Fields(title), " "), 100)
}

// marks believes a server's hints if the server is trusted; a hint that asks for
// more care is always believed.
func (o *offer) marks(trusted bool) tool.Marks {
	a := o.Annotations
	if a == nil {
		return tool.Marks{}
	}
	m := tool.Marks{Destructive: a.Destructive != nil && *a.Destructive && !a.ReadOnly}
	if !trusted {
		return m
	}
	switch {
	case a.ReadOnly:
		m.ReadOnly, m.ConcurrencySafe, m.Effect = true, true, tool.Idempotent
	case a.Idempotent:
		m.Effect = tool.Idempotent
	}
	return m
}

// repeatable reports whether sending the call twice does no harm, by the
// server's own word.
func (o *offer) repeatable() bool {
	return o.Annotations != nil && (o.Annotations.ReadOnly || o.Annotations.Idempotent)
}

// maxServerResult is the most that a server may ask for.
const maxServerResult = 500_000

// maxResult is what the entry says, for the tool or for all, else what the server
// asks for, else the host's.
func (o *offer) maxResult(p *peer) int {
	if configured := cmp.Or(p.cfg.ToolMaxResult[o.Name], p.cfg.MaxResult); configured > 0 {
		return configured
	}
	var asked int
	if json.Unmarshal(o.Meta["anthropic/maxResultSizeChars"], &asked) == nil && asked > 0 {
		return min(asked, maxServerResult)
	}
	return p.host.opts.MaxResult
}

func (o *offer) meta(p *peer) map[string]any {
	m := map[string]any{"server": p.name, "tool": o.Name, "digest": o.digest, "inputSchema": o.InputSchema}
	var flag bool
	if json.Unmarshal(o.Meta["anthropic/alwaysLoad"], &flag); flag || p.cfg.AlwaysLoad {
		m[tool.AlwaysLoad] = true
	}
	return m
}
