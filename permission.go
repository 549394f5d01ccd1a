package haft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/haftdev/haft/wire"
)

// Types of the decision about a call.
type (
	// ToolRequest is a call to decide about.
	// Its fields are those of [wire.CanUseTool].
	ToolRequest = wire.CanUseTool
	// Permission is the decision.
	// Its fields are those of [wire.PermissionAnswer].
	Permission = wire.PermissionAnswer
	// PermissionUpdate changes what is allowed from now on.
	// Its fields are those of [wire.PermissionUpdate].
	PermissionUpdate = wire.PermissionUpdate
)

// A PermissionFunc decides about a call. An error denies it. The context is cancelled when
// the answer is no longer needed.
type PermissionFunc func(context.Context, *ToolRequest) (*Permission, error)

// Allow lets a call run and applies the updates, such as those that the request suggests.
func Allow(updates ...PermissionUpdate) *Permission {
	return &Permission{Behavior: wire.BehaviorAllow, UpdatedPermissions: updates}
}

// AllowInput lets a call run with another input: any value that is an object in JSON.
func AllowInput(input any) (*Permission, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("encode changed input: %w", err)
	}
	return &Permission{Behavior: wire.BehaviorAllow, UpdatedInput: raw}, nil
}

// Deny refuses a call. The model reads the reason and continues.
func Deny(reason string) *Permission {
	return &Permission{Behavior: wire.BehaviorDeny, Message: reason}
}

// DenyAndStop refuses a call and ends the turn.
func DenyAndStop(reason string) *Permission {
	return &Permission{Behavior: wire.BehaviorDeny, Message: reason, Interrupt: true}
}

var (
	errNoCallback = errors.New("the program has no function that approves calls")
	errNoDecision = errors.New("the permission callback returned no decision")
)
