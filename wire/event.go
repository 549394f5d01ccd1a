package wire

import "encoding/json"

// The states of a call.
const (
	CallQueued    = "queued"
	CallAsked     = "asked" // a user is asked about it
	CallExecuting = "executing"
	CallCompleted = "completed"
)

// ToolProgress says that a tool is still running. With --include-tool-progress, it also reports
// each state of a call, and what the tool reports while it runs.
type ToolProgress struct {
	Stamp
	ToolUseID          string     `json:"tool_use_id"`
	ToolName           string     `json:"tool_name"`
	ParentToolUseID    NullString `json:"parent_tool_use_id"`
	ElapsedTimeSeconds float64    `json:"elapsed_time_seconds"`
	Heartbeat          bool       `json:"heartbeat,omitempty"`
	TaskID             string     `json:"task_id,omitempty"`
	// AgentID is the sub-agent that calls.
	AgentID string `json:"agent_id,omitempty"`
	State   string `json:"state,omitempty" wire:"enum=queued|asked|executing|completed"`
	// Progress is an object with a type, such as bash_progress, and what the tool reports.
	Progress json.RawMessage `json:"progress,omitempty"`
}

// Tag is tool_progress.
func (*ToolProgress) Tag() Tag { return Tag{Type: "tool_progress"} }

// CommandLifecycle reports the progress of a prompt that was sent with a UUID.
type CommandLifecycle struct {
	Stamp
	CommandUUID string `json:"command_uuid"`
	State       string `json:"state" wire:"enum=queued|started|completed|cancelled"`
}

// Tag is command_lifecycle.
func (*CommandLifecycle) Tag() Tag { return Tag{Type: "command_lifecycle"} }

// ConversationReset says that the conversation was cleared.
type ConversationReset struct {
	Stamp
	NewConversationID string `json:"new_conversation_id"`
	Trigger           string `json:"trigger,omitempty"`
}

// Tag is conversation_reset.
func (*ConversationReset) Tag() Tag { return Tag{Type: "conversation_reset"} }

// KeepAlive has no content. It keeps the connection open.
type KeepAlive struct {
	Base
	StartupMark string `json:"startup_mark,omitempty"`
}

// Tag is keep_alive.
func (*KeepAlive) Tag() Tag { return Tag{Type: "keep_alive"} }

// TranscriptMirror repeats lines that were written to a session's file.
type TranscriptMirror struct {
	Base
	FilePath string                `json:"filePath"`
	Entries  List[json.RawMessage] `json:"entries"`
}

// Tag is transcript_mirror.
func (*TranscriptMirror) Tag() Tag { return Tag{Type: "transcript_mirror"} }

// RateLimitEvent reports the account's rate limits.
type RateLimitEvent struct {
	Stamp
	RateLimitInfo json.RawMessage `json:"rate_limit_info"`
}

// Tag is rate_limit_event.
func (*RateLimitEvent) Tag() Tag { return Tag{Type: "rate_limit_event"} }

// PromptSuggestion is a prompt that the user might want to send next.
type PromptSuggestion struct {
	Stamp
	Suggestion string `json:"suggestion"`
}

// Tag is prompt_suggestion.
func (*PromptSuggestion) Tag() Tag { return Tag{Type: "prompt_suggestion"} }

// ToolUseSummary sums up in a sentence what some calls did.
type ToolUseSummary struct {
	Stamp
	Summary             string       `json:"summary"`
	PrecedingToolUseIDs List[string] `json:"preceding_tool_use_ids"`
}

// Tag is tool_use_summary.
func (*ToolUseSummary) Tag() Tag { return Tag{Type: "tool_use_summary"} }

// AuthStatus reports the progress of a login.
type AuthStatus struct {
	Stamp
	IsAuthenticating bool         `json:"isAuthenticating"`
	Output           List[string] `json:"output"`
	Error            string       `json:"error,omitempty"`
}

// Tag is auth_status.
func (*AuthStatus) Tag() Tag { return Tag{Type: "auth_status"} }
