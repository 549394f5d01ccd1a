package haft

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/haftdev/haft/wire"
)

// A HookEvent is the event at which a hook runs.
type HookEvent string

// The events. Which ones happen is up to the command line.
const (
	PreToolUse         HookEvent = "PreToolUse"
	PostToolUse        HookEvent = "PostToolUse"
	PostToolUseFailure HookEvent = "PostToolUseFailure"
	PostToolBatch      HookEvent = "PostToolBatch"
	PermissionRequest  HookEvent = "PermissionRequest"
	UserPromptSubmit   HookEvent = "UserPromptSubmit"
	SessionStart       HookEvent = "SessionStart"
	SessionEnd         HookEvent = "SessionEnd"
	Stop               HookEvent = "Stop"
	SubagentStart      HookEvent = "SubagentStart"
	SubagentStop       HookEvent = "SubagentStop"
	PreCompact         HookEvent = "PreCompact"
	PostCompact        HookEvent = "PostCompact"
	Notification       HookEvent = "Notification"
)

// The input and output of hooks.
type (
	// HookInput is the input of a hook. Its fields are those of [wire.HookInput].
	HookInput = wire.HookInput
	// HookOutput is the answer of a hook. Its fields are those of [wire.HookOutput].
	HookOutput = wire.HookOutput
	// HookSpecific is the part of a HookOutput that only some events understand.
	// Its event name may be left empty.
	// Its fields are those of [wire.HookSpecific].
	HookSpecific = wire.HookSpecific
)

// A Hook is a function that runs at an event.
type Hook struct {
	Event HookEvent
	// Matcher selects tools, as in Bash or Edit|Write; "" means all.
	Matcher string
	// Timeout is how long it may take; 0 means the command line's default.
	Timeout time.Duration
	// Block makes an error of the hook block what it was asked about. Otherwise errors only
	// cause a warning.
	Block bool
	// Func is the hook. A nil output changes nothing.
	Func func(context.Context, *HookInput) (*HookOutput, error)
}

// DenyCall is the output of a PreToolUse hook that refuses the call. The model
// reads the reason.
func DenyCall(reason string) *HookOutput {
	return &HookOutput{HookSpecificOutput: &HookSpecific{PermissionDecision: "deny", PermissionDecisionReason: reason}}
}

// AddContext is the output of a hook that tells the model something.
func AddContext(text string) *HookOutput {
	return &HookOutput{HookSpecificOutput: &HookSpecific{AdditionalContext: text}}
}

// hookTable gives hooks the ids under which the command line calls them.
type hookTable struct {
	matchers map[string][]wire.HookMatcher
	byID     map[string]Hook
}

// call runs the hook that the command line asks for.
func (t *hookTable) call(ctx context.Context, r *wire.HookCallback) (*HookOutput, error) {
	h, ok := t.byID[r.CallbackID]
	if !ok {
		return nil, fmt.Errorf("there is no hook with id %s", r.CallbackID)
	}
	var in HookInput
	if err := json.Unmarshal(r.Input, &in); err != nil {
		return nil, fmt.Errorf("decode hook input: %w", err)
	}
	out, err := h.Func(ctx, &in)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return &HookOutput{}, nil
	}
	if s := out.HookSpecificOutput; s != nil && s.HookEventName == "" {
		named := *s
		named.HookEventName = in.HookEventName
		whole := *out
		whole.HookSpecificOutput = &named
		out = &whole
	}
	return out, nil
}

func newHookTable(hooks []Hook) hookTable {
	t := hookTable{byID: map[string]Hook{}}
	for i, h := range hooks {
		id := fmt.Sprintf("hook_%d", i)
		m := wire.HookMatcher{Matcher: h.Matcher, HookCallbackIDs: []string{id}, Timeout: h.Timeout.Seconds()}
		if h.Block {
			m.OnFailure = "block"
		}
		if t.matchers == nil {
			t.matchers = map[string][]wire.HookMatcher{}
		}
		t.matchers[string(h.Event)] = append(t.matchers[string(h.Event)], m)
		t.byID[id] = h
	}
	return t
}
