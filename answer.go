package haft

import (
	"context"

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
