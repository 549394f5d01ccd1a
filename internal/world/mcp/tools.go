package mcp

import (
	"context"
	"encoding/json"
	"errors"
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
	p.attach(o, &t)
	return t
}

// attach gives a tool of the program that drives haft the contract that it declares. What other
// servers declare does not count: they could claim anything about what they do.
func (p *peer) attach(o *offer, t *tool.Tool) {
	var k tool.Contract
	raw, ok := o.Meta["haft/contract"]
	if !ok || p.cfg.kind() != SDK || !p.cfg.Trusted {
		return
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		p.step("tool %s: its contract cannot be read: %v", o.Name, err)
		return
	}
	if k.MaxResult > maxServerResult {
		k.MaxResult = maxServerResult
	}
	k.Attach(t, func(ctx context.Context, part tool.ContractPart, c *tool.Call) (json.RawMessage, error) {
		return p.question(ctx, o, part, c)
	})
}

// question asks the program about a call of its tool, beside the session: the protocol has no
// such request.
func (p *peer) question(ctx context.Context, o *offer, part tool.ContractPart, c *tool.Call) (json.RawMessage, error) {
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "haft-" + string(part), "method": "haft/tool", "params": map[string]any{
		"name": o.Name, "part": part, "arguments": arguments(o.names.Back(c.Input)), "_meta": callMeta(c),
	}})
	if err != nil {
		return nil, err
	}
	raw, err := p.host.opts.Send(ctx, p.name, message)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Result struct {
			Answer json.RawMessage `json:"answer"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, errors.New(reply.Error.Message)
	}
	return reply.Result.Answer, nil
}

// callMeta is what a server may want to know of a call.
func callMeta(c *tool.Call) map[string]any {
	meta := map[string]any{}
	for key, value := range map[string]string{"claudecode/toolUseId": c.UseID, "haft/dir": c.Dir, "haft/approved": c.Approved} {
		if value != "" {
			meta[key] = value
		}
	}
	return meta
}
