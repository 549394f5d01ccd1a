package mcp

import (
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
