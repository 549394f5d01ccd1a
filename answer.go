package haft

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/wire"
)

// decide asks f about a call and completes its answer.
func decide(ctx context.Context, f PermissionFunc, r *ToolRequest) (*Permission, error) {
	if f == nil {
		return nil, errNoCallback
	}
	p, err := f(ctx, r)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errNoDecision
	}
	answer := *p
	answer.ToolUseID = r.ToolUseID
	if answer.Behavior == wire.BehaviorAllow && answer.UpdatedInput == nil {
		answer.UpdatedInput = r.Input // some command lines run nothing without it
	}
	return &answer, nil
}

func (c *Client) serveMCP(ctx context.Context, r *wire.MCPMessage) (any, error) {
	c.mu.Lock()
	server, ok := c.servers[r.ServerName].(*ToolServer)
	c.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("SDK MCP server not found: %s", r.ServerName)
	}
	return server.serve(ctx, r.ServerName, r.Message, func(message json.RawMessage) {
		_ = c.conn.Call(ctx, &wire.MCPMessage{ServerName: r.ServerName, Message: message}, nil) // progress is not essential
	})
}

// elicit asks f for what an MCP server wants to know. Without f, or without an answer, it
// declines.
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
