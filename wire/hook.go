package wire

import "encoding/json"

// HookInput is the input of a hook. Which fields are set beyond the first group depends on
// the event.
type HookInput struct {
	HookEventName  string       `json:"hook_event_name"`
	SessionID      string       `json:"session_id"`
	TranscriptPath string       `json:"transcript_path"`
	Cwd            string       `json:"cwd"`
	PromptID       string       `json:"prompt_id,omitempty"`
	PermissionMode string       `json:"permission_mode,omitempty"`
	AgentID        string       `json:"agent_id,omitempty"`
	AgentType      string       `json:"agent_type,omitempty"`
	Effort         *EffortLevel `json:"effort,omitempty"`

	// Prompt and SessionTitle are those of UserPromptSubmit.
	Prompt       string `json:"prompt,omitempty"`
	SessionTitle string `json:"session_title,omitempty"`
	// Source says where a prompt, a session or a change of model comes from.
	Source string `json:"source,omitempty"`

	// ToolName, ToolInput and ToolUseID are those of the events around calls.
	ToolName  string          `json:"tool_name,omitempty"`
	ToolInput json.RawMessage `json:"tool_input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	MCPServer *MCPServerRef   `json:"mcp_server,omitempty"`
	// PermissionSuggestions are those of PermissionRequest.
	PermissionSuggestions []PermissionUpdate `json:"permission_suggestions,omitempty"`
	// ToolResponse is the tool's structured output, after the call.
	ToolResponse json.RawMessage `json:"tool_response,omitempty"`
	DurationMS   float64         `json:"duration_ms,omitempty"`
	// Error and IsInterrupt are those of PostToolUseFailure.
	Error       string `json:"error,omitempty"`
	IsInterrupt bool   `json:"is_interrupt,omitempty"`
	// ToolCalls are those of PostToolBatch.
	ToolCalls []HookToolCall `json:"tool_calls,omitempty"`

	// StopHookActive and LastAssistantMessage are those of Stop and SubagentStop.
	StopHookActive       bool            `json:"stop_hook_active,omitempty"`
	LastAssistantMessage string          `json:"last_assistant_message,omitempty"`
	AgentTranscriptPath  string          `json:"agent_transcript_path,omitempty"`
	BackgroundTasks      json.RawMessage `json:"background_tasks,omitempty"`
	SessionCrons         json.RawMessage `json:"session_crons,omitempty"`

	// Model is that of SessionStart.
	Model string `json:"model,omitempty"`
	// Trigger and those up to CompactSummary are those of PreCompact and PostCompact.
	Trigger            string     `json:"trigger,omitempty"`
	CustomInstructions NullString `json:"custom_instructions,omitempty"`
	CompactSummary     string     `json:"compact_summary,omitempty"`
	// Message, Title and NotificationType are those of Notification.
	Message          string `json:"message,omitempty"`
	Title            string `json:"title,omitempty"`
	NotificationType string `json:"notification_type,omitempty"`
	// Reason is that of SessionEnd.
	Reason string `json:"reason,omitempty"`
	// FromModel, ToModel, RequestedModel and ContextTokens are those of the events
	// around a change of model.
	FromModel      string `json:"from_model,omitempty"`
	ToModel        string `json:"to_model,omitempty"`
	RequestedModel string `json:"requested_model,omitempty"`
	ContextTokens  int    `json:"context_tokens,omitempty"`
}

// EffortLevel is how hard the model should think.
type EffortLevel struct {
	Level string `json:"level"`
}

// HookToolCall is a call of a batch, with the text that the model got.
type HookToolCall struct {
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"`
	ToolUseID    string          `json:"tool_use_id"`
	ToolResponse json.RawMessage `json:"tool_response,omitempty"`
}

// HookOutput is the answer of a hook. The zero value changes nothing.
type HookOutput struct {
	// Continue set to false ends the turn, StopReason says why.
	Continue   *bool  `json:"continue,omitempty"`
	StopReason string `json:"stopReason,omitempty"`
	// SystemMessage is shown to the user.
	SystemMessage  string `json:"systemMessage,omitempty"`
	SuppressOutput bool   `json:"suppressOutput,omitempty"`
	Decision       string `json:"decision,omitempty" wire:"enum=approve|block"`
	Reason         string `json:"reason,omitempty"`
	// Async lets the event continue without the hook, for AsyncTimeout milliseconds.
	Async              bool          `json:"async,omitempty"`
	AsyncTimeout       int           `json:"asyncTimeout,omitempty"`
	HookSpecificOutput *HookSpecific `json:"hookSpecificOutput,omitempty"`
}

// HookSpecific is what only some events understand.
type HookSpecific struct {
	HookEventName string `json:"hookEventName"`
	// PermissionDecision and its reason are for PreToolUse.
	PermissionDecision       string `json:"permissionDecision,omitempty" wire:"enum=allow|deny|ask|defer"`
	PermissionDecisionReason string `json:"permissionDecisionReason,omitempty"`
	// UpdatedInput replaces the input of the call, for PreToolUse.
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	// AdditionalContext is added to what the model reads.
	AdditionalContext string `json:"additionalContext,omitempty"`
	// UpdatedToolOutput replaces the output of the call, for PostToolUse.
	UpdatedToolOutput json.RawMessage `json:"updatedToolOutput,omitempty"`
	// Decision answers a PermissionRequest.
	Decision *PermissionAnswer `json:"decision,omitempty"`
}
