package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/tool"
)

// An Output is the answer of a hook. The zero value has no objection.
type Output struct {
	// Continue false stops the turn, with StopReason for the user.
	Continue   *bool  `json:"continue,omitempty"`
	StopReason string `json:"stopReason,omitempty"`
	// SystemMessage is for the user. SuppressOutput hides what the hook printed from them.
	SystemMessage  string `json:"systemMessage,omitempty"`
	SuppressOutput bool   `json:"suppressOutput,omitempty"`
	// Decision is approve or block, with Reason for the model.
	Decision string `json:"decision,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Specific holds the fields that only some events have.
	Specific *Specific `json:"hookSpecificOutput,omitempty"`

	text string // what the hook printed, if it was no JSON
}

// Specific is what an [Output] says about its event.
type Specific struct {
	HookEventName Event `json:"hookEventName,omitempty"`
	// AdditionalContext is for the model.
	AdditionalContext string `json:"additionalContext,omitempty"`

	// PermissionDecision is allow, deny, ask or defer, of PreToolUse.
	PermissionDecision       string `json:"permissionDecision,omitempty"`
	PermissionDecisionReason string `json:"permissionDecisionReason,omitempty"`
	// UpdatedInput replaces the input, of PreToolUse.
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	// UpdatedToolOutput replaces the output, of PostToolUse.
	UpdatedToolOutput json.RawMessage `json:"updatedToolOutput,omitempty"`
	// Decision answers a PermissionRequest.
	Decision *Answer `json:"decision,omitempty"`
}

// An Answer decides about a call.
type Answer struct {
	Behavior     string          `json:"behavior"` // allow or deny
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	Message      string          `json:"message,omitempty"`
	Interrupt    bool            `json:"interrupt,omitempty"`
}

// A said is one hook's answer, reduced to what can be decided.
type said struct {
	behavior   tool.Behavior
	reason     string
	input      json.RawMessage
	output     json.RawMessage
	context    string // for the model
	text       string // for the model too, and printed as it is
	stop       bool
	stopReason string
	interrupt  bool
}

// read checks an answer and says what it means for the event.
func (o *Output) read(event Event) (said, error) {
	s := said{reason: o.Reason, stop: o.Continue != nil && !*o.Continue, stopReason: cmp.Or(o.StopReason, o.Reason)}
	switch o.Decision {
	case "":
	case "approve":
		s.behavior = tool.Allow
	case "block":
		s.behavior = tool.Deny
	default:
		return said{}, fmt.Errorf("its decision must be approve or block, not %q", o.Decision)
	}
	if forModel(event) {
		s.text = o.text
	}
	if o.Specific == nil {
		return s, nil
	}
	if name := o.Specific.HookEventName; name != "" && name != event {
		return said{}, fmt.Errorf("its answer is for %s, not for %s", name, event)
	}
	return s, s.readSpecific(o.Specific)
}

func (s *said) readSpecific(o *Specific) error {
	s.context = o.AdditionalContext
	s.output = o.UpdatedToolOutput
	s.input = o.UpdatedInput
	if o.PermissionDecisionReason != "" {
		s.reason = o.PermissionDecisionReason
	}
	switch o.PermissionDecision {
	case "", "defer":
	case "allow":
		s.behavior = tool.Allow
	case "ask":
		s.behavior = tool.Ask
	case "deny":
		s.behavior = tool.Deny
	default:
		return fmt.Errorf("its permissionDecision must be allow, deny, ask or defer, not %q", o.PermissionDecision)
	}
	if o.Decision != nil {
		if err := s.readAnswer(o.Decision); err != nil {
			return err
		}
	}
	if string(s.input) == "null" {
		s.input = nil
	}
	if s.input != nil && !bytes.HasPrefix(bytes.TrimSpace(s.input), []byte("{")) {
		return fmt.Errorf("its updatedInput must be an object")
	}
	return nil
}

func (s *said) readAnswer(a *Answer) error {
	switch a.Behavior {
	case "allow":
		s.behavior = tool.Allow
	case "deny":
		s.behavior = tool.Deny
	default:
		return fmt.Errorf("its decision must be allow or deny, not %q", a.Behavior)
	}
	s.input, s.interrupt = a.UpdatedInput, a.Interrupt
	if a.Message != "" {
		s.reason = a.Message
	}
	return nil
}
