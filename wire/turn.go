package wire

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// Assistant is one finished content block of the model's answer. The blocks of
// one answer share Message.ID.
type Assistant struct {
	Stamp
	Message AssistantMessage `json:"message"`
	// ParentToolUseID is the Agent call that a sub-agent speaks under.
	ParentToolUseID NullString `json:"parent_tool_use_id"`
	Timestamp       string     `json:"timestamp,omitempty"`

	// Error and the fields up to APIErrorType mark a message that reports a failure of the
	// model's API.
	Error             string `json:"error,omitempty" wire:"enum=authentication_failed|oauth_org_not_allowed|account_on_hold|verification_required|billing_error|rate_limit|overloaded|invalid_request|model_not_found|server_error|unknown|max_output_tokens|cloud_credential_error"`
	IsAPIErrorMessage bool   `json:"is_api_error_message,omitempty"`
	APIErrorStatus    *int   `json:"api_error_status,omitempty"`
	APIErrorType      string `json:"api_error_type,omitempty"`

	// Aborted marks a block that an interrupt cut off.
	Aborted bool `json:"aborted,omitempty"`
	// UserMessageUUID and UserMessageUUIDs are the prompts that the turn answers, on
	// its first block.
	UserMessageUUID  string   `json:"user_message_uuid,omitempty"`
	UserMessageUUIDs []string `json:"user_message_uuids,omitempty"`

	// AgentID, SubagentType and TaskDescription are those of a sub-agent.
	AgentID         string `json:"agent_id,omitempty"`
	SubagentType    string `json:"subagent_type,omitempty"`
	TaskDescription string `json:"task_description,omitempty"`

	// ToolUseMeta says how to show calls of MCP tools.
	ToolUseMeta        []ToolUseMeta `json:"tool_use_meta,omitempty"`
	ThinkingDurationMS int           `json:"thinking_duration_ms,omitempty"`
	// RequestID is that of the request to the model's API.
	RequestID string `json:"request_id,omitempty"`
}

// Tag is assistant.
func (*Assistant) Tag() Tag { return Tag{Type: "assistant"} }

// AssistantMessage is an answer of the Messages API, with one block of it.
type AssistantMessage struct {
	ID                string          `json:"id" wire:"nonempty"`
	Type              string          `json:"type" wire:"enum=message"`
	Role              string          `json:"role" wire:"enum=assistant"`
	Model             string          `json:"model"`
	Content           List[Block]     `json:"content"`
	StopReason        NullString      `json:"stop_reason"`
	StopSequence      NullString      `json:"stop_sequence"`
	StopDetails       json.RawMessage `json:"stop_details,omitempty"`
	Usage             Usage           `json:"usage"`
	ContextManagement json.RawMessage `json:"context_management,omitempty"`
	Container         json.RawMessage `json:"container,omitempty"`
	Diagnostics       json.RawMessage `json:"diagnostics,omitempty"`
}

// ToolUseMeta says how to show one call of an MCP tool.
type ToolUseMeta struct {
	ID                string `json:"id"`
	DisplayName       string `json:"display_name,omitempty"`
	ServerDisplayName string `json:"server_display_name,omitempty"`
	ToolName          string `json:"tool_name,omitempty"`
}

// User is a prompt if a host sends it. If the CLI sends it, it is content that was
// added to the conversation: one message per tool result, and a few others.
type User struct {
	Base
	Message UserMessage `json:"message"`
	// ParentToolUseID is the Agent call whose sub-agent the message belongs to.
	ParentToolUseID NullString `json:"parent_tool_use_id"`
	SessionID       string     `json:"session_id"`
	// UUID is the sender's id of the message, and the key for rewinding to it.
	UUID      string `json:"uuid,omitempty"`
	Timestamp string `json:"timestamp,omitempty"`

	// ToolUseResult is the structured output of the tool: an object, for a failure a
	// string, for an MCP tool its content.
	ToolUseResult  json.RawMessage  `json:"tool_use_result,omitempty"`
	ToolResultMeta []ToolResultMeta `json:"tool_result_meta,omitempty"`

	// IsReplay marks the echo of a prompt, IsSynthetic a message that no user wrote.
	IsReplay    bool `json:"isReplay,omitempty"`
	IsSynthetic bool `json:"isSynthetic,omitempty"`

	// AgentID, SubagentType and TaskDescription are those of a sub-agent.
	AgentID         string `json:"agent_id,omitempty"`
	SubagentType    string `json:"subagent_type,omitempty"`
	TaskDescription string `json:"task_description,omitempty"`

	// Priority of a prompt that arrives during a turn: now ends the turn after the running
	// tool, next (the default) joins it, later waits for its end.
	Priority string `json:"priority,omitempty" wire:"enum=now|next|later"`
	// ShouldQuery set to false adds the message to the conversation without a turn.
	ShouldQuery *bool `json:"shouldQuery,omitempty"`
	// ClientComposed marks a prompt to be taken literally.
	ClientComposed bool `json:"client_composed,omitempty"`

	Origin        json.RawMessage `json:"origin,omitempty"`
	PastedContent json.RawMessage `json:"pasted_content,omitempty"`
	InlinePastes  json.RawMessage `json:"inline_pastes,omitempty"`
}

// Tag is user.
func (*User) Tag() Tag { return Tag{Type: "user"} }

// Prompt returns a user message with one block of text.
func Prompt(text string) *User {
	return &User{Message: UserMessage{Role: "user", Content: Content{Blocks: []Block{Text(text)}}}}
}

// UserMessage is a user message of the Messages API.
type UserMessage struct {
	Role    string  `json:"role" wire:"enum=user"`
	Content Content `json:"content"`
}

// ToolResultMeta says how a call came to its result.
type ToolResultMeta struct {
	ID                 string              `json:"id"`
	PermissionDecision *PermissionDecision `json:"permission_decision,omitempty"`
	// NonExecutionKind says why the tool did not run.
	NonExecutionKind string `json:"non_execution_kind,omitempty"`
	// Confinement is what the kernel limited a command to, Sandbox the tier that did it.
	Confinement string `json:"confinement,omitempty" wire:"enum=none|read-only|project|preview"`
	Sandbox     string `json:"sandbox,omitempty" wire:"enum=box|landlock|none"`
}

// PermissionDecision says who decided about a call.
type PermissionDecision struct {
	Decision   string `json:"decision" wire:"enum=accept|reject"`
	Source     string `json:"source"`
	ReasonType string `json:"reason_type,omitempty"`
}

// StreamEvent is an event of the model's stream as it was received, sent only if partial
// messages were asked for.
type StreamEvent struct {
	Stamp
	Event           json.RawMessage `json:"event"`
	ParentToolUseID NullString      `json:"parent_tool_use_id"`
	// TTFTMS is the time to the first token, on message_start.
	TTFTMS          *int   `json:"ttft_ms,omitempty"`
	APIMessageID    string `json:"api_message_id,omitempty"`
	ThinkingDisplay string `json:"thinking_display,omitempty"`
}

// Tag is stream_event.
func (*StreamEvent) Tag() Tag { return Tag{Type: "stream_event"} }

// TextDelta returns the text that the event adds to the answer, if any.
func (e *StreamEvent) TextDelta() (string, bool) {
	var event struct {
		Type  string
		Delta struct{ Type, Text string }
	}
	if json.Unmarshal(e.Event, &event) != nil || event.Type != "content_block_delta" || event.Delta.Type != "text_delta" {
		return "", false
	}
	return event.Delta.Text, true
}

// The subtypes of [Result].
const (
	ResultSuccess           = "success"
	ResultMaxTurns          = "error_max_turns"
	ResultMaxBudget         = "error_max_budget_usd"
	ResultDuringExecution   = "error_during_execution"
	ResultStructuredRetries = "error_max_structured_output_retries"
)

// Result ends a turn: each turn has exactly one, and it comes last. If the API failed, it is a
// success with IsError and the text in Result; the error subtypes have Errors instead of
// Result.
type Result struct {
	Stamp
	Subtype       string     `json:"subtype" wire:"enum=success|error_max_turns|error_max_budget_usd|error_during_execution|error_max_structured_output_retries"`
	IsError       bool       `json:"is_error"`
	DurationMS    int64      `json:"duration_ms"`
	DurationAPIMS int64      `json:"duration_api_ms"`
	NumTurns      int        `json:"num_turns"`
	StopReason    NullString `json:"stop_reason"`
	// TotalCostUSD and ModelUsage count from the start of the process, Usage counts the
	// turn.
	TotalCostUSD      float64                `json:"total_cost_usd"`
	Usage             Usage                  `json:"usage"`
	ModelUsage        map[string]ModelUsage  `json:"modelUsage"`
	PermissionDenials List[PermissionDenial] `json:"permission_denials"`
	TerminalReason    string                 `json:"terminal_reason,omitempty"`
	QueuedTurnCount   int                    `json:"queued_turn_count"`
	ResultIndex       int                    `json:"result_index"`
	// UserMessageUUID and UserMessageUUIDs are the prompts that the turn answered.
	UserMessageUUID  string   `json:"user_message_uuid,omitempty"`
	UserMessageUUIDs []string `json:"user_message_uuids,omitempty"`

	// Result is the final text, present if the subtype is success.
	Result string `json:"result,omitempty"`
	// StructuredOutput is what a requested JSON Schema describes.
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`
	// Errors say what went wrong, for the error subtypes.
	Errors []string `json:"errors,omitempty"`

	// TTFTMS is the time to the first token of the turn, absent if there was none.
	TTFTMS          *int   `json:"ttft_ms,omitempty"`
	APIErrorStatus  *int   `json:"api_error_status,omitempty"`
	APIErrorType    string `json:"api_error_type,omitempty"`
	LocalCommand    string `json:"local_command,omitempty"`
	DeferredToolUse any    `json:"deferred_tool_use,omitempty"`
	// Origin says what started a turn that no prompt started.
	Origin json.RawMessage `json:"origin,omitempty"`

	FastModeState             string          `json:"fast_mode_state,omitempty"`
	SubagentStats             json.RawMessage `json:"subagent_stats,omitempty"`
	SafetyStops               json.RawMessage `json:"safety_stops,omitempty"`
	ModelUsageSinceLastResult json.RawMessage `json:"model_usage_since_last_result,omitempty"`
}

// Tag is result, with the subtype of this one.
func (r *Result) Tag() Tag { return Tag{Type: "result", Subtype: r.Subtype} }

// MarshalJSON writes the text of a success also where it is empty.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	if r.ModelUsage == nil {
		r.ModelUsage = map[string]ModelUsage{}
	}
	if r.Subtype != ResultSuccess {
		return plainjson.Marshal(plain(r))
	}
	return plainjson.Marshal(struct {
		plain
		Result string `json:"result"`
	}{plain(r), r.Result})
}

// PermissionDenial is a call that was not allowed.
type PermissionDenial struct {
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	ToolInput json.RawMessage `json:"tool_input"`
}
