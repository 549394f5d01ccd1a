package wire

import "encoding/json"

func system(subtype string) Tag { return Tag{"system", subtype} }

// Init opens every turn and lists the tools, servers, model and mode.
type Init struct {
	Stamp
	Cwd               string          `json:"cwd"`
	Tools             List[string]    `json:"tools"`
	MCPServers        List[InitMCP]   `json:"mcp_servers"`
	Model             string          `json:"model"`
	PermissionMode    string          `json:"permissionMode"`
	SlashCommands     List[string]    `json:"slash_commands"`
	APIKeySource      string          `json:"apiKeySource"`
	ClaudeCodeVersion string          `json:"claude_code_version"`
	OutputStyle       string          `json:"output_style"`
	Agents            List[string]    `json:"agents"`
	Skills            List[string]    `json:"skills"`
	Plugins           List[Plugin]    `json:"plugins"`
	PluginErrors      json.RawMessage `json:"plugin_errors,omitempty"`
	// Capabilities name the parts of the protocol beyond the first version that the command
	// line supports.
	Capabilities          []string          `json:"capabilities,omitempty"`
	Betas                 []string          `json:"betas,omitempty"`
	UserMessageUUIDs      []string          `json:"user_message_uuids,omitempty"`
	Effort                json.RawMessage   `json:"effort,omitempty"`
	OriginalCwd           string            `json:"original_cwd,omitempty"`
	AdditionalDirectories []string          `json:"additional_directories,omitempty"`
	TerminalSlashCommands []string          `json:"terminal_slash_commands,omitempty"`
	MemoryPaths           map[string]string `json:"memory_paths,omitempty"`
	FastModeState         string            `json:"fast_mode_state,omitempty"`
	ViewMode              string            `json:"view_mode,omitempty"`
	Sandbox               *InitSandbox      `json:"sandbox,omitempty"`
}

// InitSandbox is what confines commands. The tier is detected by the first command that is
// confined: before that it is unknown, unless the settings require a sandbox.
type InitSandbox struct {
	Mode    string `json:"mode" wire:"enum=off|prefer|require"`
	Enabled bool   `json:"enabled"`
	Tier    string `json:"tier" wire:"enum=box|landlock|none|unknown"`
	// Problem says why the tier is not a stronger one.
	Problem string `json:"problem,omitempty"`
}

// Tag is system/init.
func (*Init) Tag() Tag { return system("init") }

// InitMCP is the state of an MCP server.
type InitMCP struct {
	Name   string `json:"name"`
	Status string `json:"status" wire:"enum=connected|failed|needs-auth|pending|disabled"`
	Source string `json:"source,omitempty"`
}

// Plugin is a plugin that is loaded.
type Plugin struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
}

// The states of a session.
const (
	StateRunning        = "running"
	StateIdle           = "idle"
	StateRequiresAction = "requires_action"
)

// SessionStateChanged tells a host whether a turn is running, is waiting for the host's
// answer, or has ended. It is sent only to hosts whose environment says that they read it;
// every running is followed by an idle.
type SessionStateChanged struct {
	Stamp
	State string `json:"state" wire:"enum=running|idle|requires_action"`
	// SDKHostOnly keeps the message from the program that uses an SDK.
	SDKHostOnly bool `json:"sdk_host_only,omitempty"`
}

// Tag is system/session_state_changed.
func (*SessionStateChanged) Tag() Tag { return system("session_state_changed") }

// Status says what the turn is waiting for, or that the permission mode has changed.
type Status struct {
	Stamp
	Status         NullString `json:"status" wire:"enum=requesting|compacting"`
	PermissionMode string     `json:"permissionMode,omitempty"`
	CompactResult  string     `json:"compact_result,omitempty"`
	CompactError   string     `json:"compact_error,omitempty"`
}

// Tag is system/status.
func (*Status) Tag() Tag { return system("status") }

// APIRetry says that a request to the model's API failed and will be sent again.
type APIRetry struct {
	Stamp
	Attempt      int `json:"attempt"`
	MaxRetries   int `json:"max_retries"`
	RetryDelayMS int `json:"retry_delay_ms"`
	// ErrorStatus is the HTTP status, null if there was no answer.
	ErrorStatus *int   `json:"error_status"`
	Error       string `json:"error"`
}

// Tag is system/api_retry.
func (*APIRetry) Tag() Tag { return system("api_retry") }

// ModelFallback says that the fallback model is used from now on.
type ModelFallback struct {
	Stamp
	Trigger       string `json:"trigger"`
	OriginalModel string `json:"original_model"`
	FallbackModel string `json:"fallback_model"`
	Content       string `json:"content"`
}

// Tag is system/model_fallback.
func (*ModelFallback) Tag() Tag { return system("model_fallback") }

// PermissionDenied reports a call that was denied without asking the host.
type PermissionDenied struct {
	Stamp
	ToolName           string `json:"tool_name"`
	ToolUseID          string `json:"tool_use_id"`
	Message            string `json:"message"`
	DecisionReasonType string `json:"decision_reason_type,omitempty"`
	DecisionReason     string `json:"decision_reason,omitempty"`
	AgentID            string `json:"agent_id,omitempty"`
}

// Tag is system/permission_denied.
func (*PermissionDenied) Tag() Tag { return system("permission_denied") }

// Informational is a message for the user.
type Informational struct {
	Stamp
	Content string `json:"content"`
	Level   string `json:"level" wire:"enum=info|notice|suggestion|warning"`
	Label   string `json:"tag,omitempty"`
}

// Tag is system/informational.
func (*Informational) Tag() Tag { return system("informational") }

// HookStarted says that a command hook has started.
type HookStarted struct {
	Stamp
	HookID string `json:"hook_id"`
	// HookName is the event and what it is about, as in PreToolUse:Bash.
	HookName  string `json:"hook_name"`
	HookEvent string `json:"hook_event"`
}

// Tag is system/hook_started.
func (*HookStarted) Tag() Tag { return system("hook_started") }

// HookProgress is output of a command hook that is still running.
type HookProgress struct {
	Stamp
	HookID    string `json:"hook_id"`
	HookName  string `json:"hook_name"`
	HookEvent string `json:"hook_event"`
	Output    string `json:"output"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
}

// Tag is system/hook_progress.
func (*HookProgress) Tag() Tag { return system("hook_progress") }

// HookResponse says how a command hook ended.
type HookResponse struct {
	Stamp
	HookID    string `json:"hook_id"`
	HookName  string `json:"hook_name"`
	HookEvent string `json:"hook_event"`
	Output    string `json:"output"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	ExitCode  *int   `json:"exit_code,omitempty"`
	Outcome   string `json:"outcome" wire:"enum=success|error|cancelled"`
}

// Tag is system/hook_response.
func (*HookResponse) Tag() Tag { return system("hook_response") }

// CompactBoundary marks where the conversation was compacted.
type CompactBoundary struct {
	Stamp
	CompactMetadata   CompactMetadata `json:"compact_metadata"`
	LogicalParentUUID string          `json:"logical_parent_uuid,omitempty"`
}

// Tag is system/compact_boundary.
func (*CompactBoundary) Tag() Tag { return system("compact_boundary") }

// CompactMetadata measures a compaction.
type CompactMetadata struct {
	Trigger    string `json:"trigger" wire:"enum=manual|auto"`
	PreTokens  int    `json:"pre_tokens"`
	PostTokens int    `json:"post_tokens"`
	DurationMS int64  `json:"duration_ms"`
}

// CommandsChanged is the new list of slash commands.
type CommandsChanged struct {
	Stamp
	Commands List[Command] `json:"commands"`
}

// Tag is system/commands_changed.
func (*CommandsChanged) Tag() Tag { return system("commands_changed") }

// ThinkingTokens estimates how many tokens the model has used for thinking so far.
type ThinkingTokens struct {
	Stamp
	EstimatedTokens      int `json:"estimated_tokens"`
	EstimatedTokensDelta int `json:"estimated_tokens_delta"`
}

// Tag is system/thinking_tokens.
func (*ThinkingTokens) Tag() Tag { return system("thinking_tokens") }

// SessionTitleChanged is the session's new title.
type SessionTitleChanged struct {
	Stamp
	Title string `json:"title,omitempty"`
}

// Tag is system/session_title_changed.
func (*SessionTitleChanged) Tag() Tag { return system("session_title_changed") }

// Notification asks for the user's attention.
type Notification struct {
	Stamp
	Key      string `json:"key,omitempty"`
	Text     string `json:"text"`
	Priority string `json:"priority,omitempty"`
}

// Tag is system/notification.
func (*Notification) Tag() Tag { return system("notification") }
