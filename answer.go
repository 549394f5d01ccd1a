package haft

import (
	"context"
	"fmt"

	"github.com/haftdev/haft/wire"
)

// answer serves the requests of the command line.
func (c *Client) answer(ctx context.Context, r wire.Request) (any, error) {
	switch r := r.(type) {
	case *wire.CanUseTool:
		return decide(ctx, c.opts.CanUseTool, r)
	case *wire.HookCallback:
		return c.hooks.call(ctx, r)
	case *wire.MCPMessage:
		return c.serveMCP(ctx, r)
	case *wire.Elicitation:
		return elicit(ctx, c.opts.Elicit, r)
	}
	return nil, wire.Unsupported(r)
}

func (c *Client) serveMCP(ctx context.Context, r *wire.MCPMessage) (any, error) {
	c.mu.Lock()
	server, ok := c.servers[r.ServerName].(*ToolServer)
	c.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("SDK MCP server not found: %s", r.ServerName)
	}
	return server.serve(ctx, r.ServerName, r.Message)
}

// elicit asks f what an MCP server wants to know. Nobody to ask, and no answer,
// is a refusal.
func elicit(ctx context.Context, f func(context.Context, *Elicitation) (*ElicitationReply, error), r *Elicitation) (*ElicitationReply, error) {
	if f == nil {
		return &ElicitationReply{Action: "decline"}, nil
	}
	reply, err := f(ctx, r)
	if err == nil && reply == nil {
		return &ElicitationReply{Action: "decline"}, nil
	}
	return reply, err
}
