package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Event is when hooks run, spelled as in settings and on the wire.
type Event string

// An Input is the input of a hook. Its JSON is one object with the fields of both parts.
type Input struct {
	Common
	Detail
}

// Common is the part that all inputs share.
type Common struct {
	SessionID      string `json:"session_id"`
	TranscriptPath string `json:"transcript_path"`
	Cwd            string `json:"cwd"`
	PromptID       string `json:"prompt_id,omitempty"`
	PermissionMode string `json:"permission_mode,omitempty"`
	// AgentID and AgentType are those of the sub-agent that the event is in.
	AgentID   string `json:"agent_id,omitempty"`
	AgentType string `json:"agent_type,omitempty"`
	// Effort is how hard the model thinks; nil means that it decides.
	Effort *Effort `json:"effort,omitempty"`
}

// Effort is a level of effort, such as high.
type Effort struct {
	Level string `json:"level"`
}

// A Detail is the part of an input that is specific to its event.
type Detail interface {
	// Event is the event's name.
	Event() Event
	// subjects are what matchers are compared with; nil means that there are none.
	subjects() []string
}

// MarshalJSON writes the input as one object.
func (in Input) MarshalJSON() ([]byte, error) {
	switch in.Detail.(type) {
	case SubagentStart, SubagentStop: // which say themselves who it is
		in.AgentID, in.AgentType = "", ""
	}
	common, err := json.Marshal(struct {
		Common
		Event Event `json:"hook_event_name"`
	}{in.Common, in.Detail.Event()})
	if err != nil {
		return nil, err
	}
	detail, err := json.Marshal(in.Detail)
	if err != nil {
		return nil, fmt.Errorf("encode input of a %s hook: %w", in.Detail.Event(), err)
	}
	if string(detail) == "{}" {
		return common, nil
	}
	return bytes.Join([][]byte{common[:len(common)-1], detail[1:]}, []byte(",")), nil
}

// PreToolUse is a call that is about to run.
type PreToolUse struct {
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id"`
	MCPServer *MCPServer      `json:"mcp_server,omitempty"`
	// Preview is what the call would change, for hooks that wait for it; nil if it is not
	// known. PreviewError says why, if that is known.
	Preview      *Preview `json:"preview,omitempty"`
	PreviewError string   `json:"preview_error,omitempty"`
}

// An MCPServer is where a tool comes from.
type MCPServer struct {
	Name string `json:"name"`
}

// PostToolUse is a call that ran. ToolInput is the input that ran.
type PostToolUse struct {
	PreToolUse
	ToolResponse any   `json:"tool_response"`
	DurationMS   int64 `json:"duration_ms"`
}

// PostToolUseFailure is a call that ran and failed.
type PostToolUseFailure struct {
	PreToolUse
	Error       string `json:"error"`
	IsInterrupt bool   `json:"is_interrupt"`
	DurationMS  int64  `json:"duration_ms"`
}

// PermissionRequest is a call that someone has to decide about.
type PermissionRequest struct {
	ToolName    string          `json:"tool_name"`
	ToolInput   json.RawMessage `json:"tool_input"`
	Suggestions []Suggestion    `json:"permission_suggestions,omitempty"`
}

// A Suggestion is a change to the permissions that would decide such calls.
type Suggestion struct {
	Type        string          `json:"type"` // addRules
	Rules       []SuggestedRule `json:"rules"`
	Behavior    string          `json:"behavior"`
	Destination string          `json:"destination"`
}

// A SuggestedRule is a rule in parts.
type SuggestedRule struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// UserPromptSubmit is a prompt that is about to be sent.
type UserPromptSubmit struct {
	Prompt       string `json:"prompt"`
	Source       string `json:"source,omitempty"`
	SessionTitle string `json:"session_title,omitempty"`
}

// SessionStart is a session that starts. Source is startup, resume, clear,
// compact or fork.
type SessionStart struct {
	Source string `json:"source"`
	Model  string `json:"model"`
}

// SessionEnd is a session that ends.
type SessionEnd struct {
	Reason string `json:"reason"`
}

// Stop is a turn that is about to end. The lists are never null in JSON.
type Stop struct {
	// StopHookActive is set if the turn is already continuing because of a Stop hook.
	StopHookActive       bool   `json:"stop_hook_active"`
	LastAssistantMessage string `json:"last_assistant_message"`
	BackgroundTasks      List   `json:"background_tasks"`
	SessionCrons         List   `json:"session_crons"`
}

// A List is values of any kind; nil is the empty list.
type List []any

// MarshalJSON writes an empty list for nil.
func (l List) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]any(l))
}

// StopFailure is a turn that ended because the model could not be asked. Error is the kind of
// the failure, such as rate_limit.
type StopFailure struct {
	Error                string `json:"error"`
	ErrorDetails         string `json:"error_details,omitempty"`
	LastAssistantMessage string `json:"last_assistant_message,omitempty"`
}

// SubagentStart is a sub-agent that starts.
type SubagentStart struct {
	AgentID   string `json:"agent_id"`
	AgentType string `json:"agent_type"`
}

// SubagentStop is a sub-agent whose turn is about to end.
type SubagentStop struct {
	Stop
	AgentID             string `json:"agent_id"`
	AgentType           string `json:"agent_type"`
	AgentTranscriptPath string `json:"agent_transcript_path"`
}

// PreCompact is a conversation that is about to be compacted. Trigger is manual
// or auto.
type PreCompact struct {
	Trigger            string `json:"trigger"`
	CustomInstructions string `json:"custom_instructions"`
}

// PostCompact is a conversation that was compacted.
type PostCompact struct {
	Trigger string `json:"trigger"`
	Summary string `json:"compact_summary"`
}

// PostToolBatch is all the calls of an answer, once they have their results.
type PostToolBatch struct {
	ToolCalls []BatchCall `json:"tool_calls"`
}

// A BatchCall is one call of a PostToolBatch, with the result that the model reads.
type BatchCall struct {
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"`
	ToolUseID    string          `json:"tool_use_id"`
	ToolResponse string          `json:"tool_response"`
}

// A Task is one of the list that the agents of a session share.
type Task struct {
	TaskID          string `json:"task_id"`
	TaskSubject     string `json:"task_subject"`
	TaskDescription string `json:"task_description,omitempty"`
}

// TaskCreated is a task that was added, and is removed if a hook blocks.
type TaskCreated struct{ Task }

// TaskCompleted is a task that is about to be completed.
type TaskCompleted struct{ Task }

// InstructionsLoaded is a file of instructions that a model is told.
type InstructionsLoaded struct {
	FilePath   string `json:"file_path"`
	MemoryType string `json:"memory_type"` // User, Project or Local
	// LoadReason is session_start, include, nested_traversal, or path_glob_match for a rule
	// that is for certain files.
	LoadReason      string   `json:"load_reason"`
	Globs           []string `json:"globs,omitempty"`
	TriggerFilePath string   `json:"trigger_file_path,omitempty"`
	ParentFilePath  string   `json:"parent_file_path,omitempty"`
}

// Notification is something that a user should look at.
type Notification struct {
	Message string `json:"message"`
	Title   string `json:"title,omitempty"`
	Type    string `json:"notification_type"`
}

func (PreToolUse) Event() Event         { return "PreToolUse" }
func (PostToolUse) Event() Event        { return "PostToolUse" }
func (PostToolUseFailure) Event() Event { return "PostToolUseFailure" }
func (PermissionRequest) Event() Event  { return "PermissionRequest" }
func (UserPromptSubmit) Event() Event   { return "UserPromptSubmit" }
func (SessionStart) Event() Event       { return "SessionStart" }
func (SessionEnd) Event() Event         { return "SessionEnd" }
func (Stop) Event() Event               { return "Stop" }
func (SubagentStart) Event() Event      { return "SubagentStart" }
func (SubagentStop) Event() Event       { return "SubagentStop" }
func (PreCompact) Event() Event         { return "PreCompact" }
func (PostCompact) Event() Event        { return "PostCompact" }
func (PostToolBatch) Event() Event      { return "PostToolBatch" }
func (Notification) Event() Event       { return "Notification" }
func (StopFailure) Event() Event        { return "StopFailure" }
func (TaskCreated) Event() Event        { return "TaskCreated" }
func (TaskCompleted) Event() Event      { return "TaskCompleted" }
func (InstructionsLoaded) Event() Event { return "InstructionsLoaded" }

func (d PreToolUse) subjects() []string         { return []string{d.ToolName} }
func (d PermissionRequest) subjects() []string  { return []string{d.ToolName} }
func (UserPromptSubmit) subjects() []string     { return nil }
func (d SessionStart) subjects() []string       { return []string{d.Source} }
func (d SessionEnd) subjects() []string         { return []string{d.Reason} }
func (Stop) subjects() []string                 { return nil }
func (d SubagentStart) subjects() []string      { return []string{d.AgentType} }
func (d SubagentStop) subjects() []string       { return []string{d.AgentType} }
func (d PreCompact) subjects() []string         { return []string{d.Trigger} }
func (d PostCompact) subjects() []string        { return []string{d.Trigger} }
func (PostToolBatch) subjects() []string        { return nil }
func (d Notification) subjects() []string       { return []string{d.Type} }
func (d StopFailure) subjects() []string        { return []string{d.Error} }
func (TaskCreated) subjects() []string          { return nil }
func (TaskCompleted) subjects() []string        { return nil }
func (d InstructionsLoaded) subjects() []string { return []string{d.LoadReason} }
