package wire

import "encoding/json"

// The requests of a host to the CLI, each followed by its answer. Those without an
// answer type are answered by a bare success.

// Empty is an answer without content.
type Empty struct{}

// Interrupt stops the running turn. It is answered at once.
type Interrupt struct {
	Base
	// CancelQueued drops the prompts that wait, too.
	CancelQueued bool `json:"cancel_queued,omitempty"`
	// MessageUUID names the prompt whose turn is meant: that of another one continues. "" means
	// whichever turn runs.
	MessageUUID string `json:"message_uuid,omitempty"`
}

// Subtype is interrupt.
func (*Interrupt) Subtype() string { return "interrupt" }

// InterruptReply lists the prompts that are still queued, and those that were dropped.
type InterruptReply struct {
	StillQueued List[string] `json:"still_queued"`
	Cancelled   []string     `json:"cancelled,omitempty"`
}

// SetPermissionMode changes the permission mode.
type SetPermissionMode struct {
	Base
	Mode string `json:"mode"`
}

// Subtype is set_permission_mode.
func (*SetPermissionMode) Subtype() string { return "set_permission_mode" }

// ErrorInvalidMode is the error code for a permission mode that does not exist.
const ErrorInvalidMode = "invalid_mode"

// SetPermissionModeReply is the mode that is now in effect.
type SetPermissionModeReply struct {
	Mode string `json:"mode"`
}

// SetModel changes the model; "" means the default model.
type SetModel struct {
	Base
	Model string `json:"model,omitempty"`
}

// Subtype is set_model.
func (*SetModel) Subtype() string { return "set_model" }

// SetModelReply is the full name of the model.
type SetModelReply struct {
	Model string `json:"model"`
}

// SetEffort changes how hard the model thinks, from the next request on. "" leaves it to the
// provider.
type SetEffort struct {
	Base
	Effort string `json:"effort"`
}

// Subtype is set_effort.
func (*SetEffort) Subtype() string { return "set_effort" }

// SetMaxThinkingTokens limits thinking; null means the model's default.
type SetMaxThinkingTokens struct {
	Base
	MaxThinkingTokens *int   `json:"max_thinking_tokens"`
	ThinkingDisplay   string `json:"thinking_display,omitempty"`
}

// Subtype is set_max_thinking_tokens.
func (*SetMaxThinkingTokens) Subtype() string { return "set_max_thinking_tokens" }

// ApplyFlagSettings overrides the settings files, as --settings does.
type ApplyFlagSettings struct {
	Base
	Settings json.RawMessage `json:"settings"`
}

// Subtype is apply_flag_settings.
func (*ApplyFlagSettings) Subtype() string { return "apply_flag_settings" }

// UpdateSettings writes settings into the file of a source: localSettings or
// userSettings.
type UpdateSettings struct {
	Base
	Source   string                     `json:"source"`
	Settings map[string]json.RawMessage `json:"settings"`
}

// Subtype is update_settings.
func (*UpdateSettings) Subtype() string { return "update_settings" }

// MCPStatus asks for the state of all MCP servers.
type MCPStatus struct{ Base }

// Subtype is mcp_status.
func (*MCPStatus) Subtype() string { return "mcp_status" }

// MCPStatusReply is the state of all MCP servers.
type MCPStatusReply struct {
	MCPServers List[MCPServerStatus] `json:"mcpServers"`
}

// MCPServerStatus is the state of an MCP server.
type MCPServerStatus struct {
	Name       string          `json:"name"`
	Status     string          `json:"status" wire:"enum=connected|failed|needs-auth|pending|disabled"`
	ServerInfo *MCPServerInfo  `json:"serverInfo,omitempty"`
	Error      string          `json:"error,omitempty"`
	Config     json.RawMessage `json:"config,omitempty"`
	Transport  string          `json:"transport,omitempty"`
	Scope      string          `json:"scope,omitempty"`
	Source     string          `json:"source,omitempty"`
	Tools      []MCPToolInfo   `json:"tools,omitempty"`
}

// MCPServerInfo is what an MCP server says about itself.
type MCPServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// MCPToolInfo is a tool of an MCP server.
type MCPToolInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// MCPSetServers replaces the servers inside the host and those that were set this way
// before. A config {"type":"sdk","name":…} is a server in the host.
type MCPSetServers struct {
	Base
	Servers map[string]json.RawMessage `json:"servers"`
}

// Subtype is mcp_set_servers.
func (*MCPSetServers) Subtype() string { return "mcp_set_servers" }

// MCPSetServersReply says what changed.
type MCPSetServersReply struct {
	Added   List[string]      `json:"added"`
	Removed List[string]      `json:"removed"`
	Errors  map[string]string `json:"errors"`
}

// MCPReconnect connects to a server again.
type MCPReconnect struct {
	Base
	ServerName string `json:"serverName"`
}

// Subtype is mcp_reconnect.
func (*MCPReconnect) Subtype() string { return "mcp_reconnect" }

// MCPToggle switches a server on or off.
type MCPToggle struct {
	Base
	ServerName string `json:"serverName"`
	Enabled    bool   `json:"enabled"`
}

// Subtype is mcp_toggle.
func (*MCPToggle) Subtype() string { return "mcp_toggle" }

// SetMCPPermissionModeOverride sets a separate mode for the tools of a server.
type SetMCPPermissionModeOverride struct {
	Base
	ServerName string     `json:"serverName"`
	Mode       NullString `json:"mode"`
}

// Subtype is set_mcp_permission_mode_override.
func (*SetMCPPermissionModeOverride) Subtype() string { return "set_mcp_permission_mode_override" }

// WarningReply may hold a warning.
type WarningReply struct {
	Warning string `json:"warning,omitempty"`
}

// MCPReadResource reads a resource of a server.
type MCPReadResource struct {
	Base
	ServerName string `json:"serverName"`
	URI        string `json:"uri"`
}

// Subtype is mcp_read_resource.
func (*MCPReadResource) Subtype() string { return "mcp_read_resource" }

// MCPReadResourceReply is what MCP's resources/read answers.
type MCPReadResourceReply struct {
	Contents List[json.RawMessage] `json:"contents"`
}

// MCPCall calls a tool of a server directly, without the model.
type MCPCall struct {
	Base
	// Tool is the tool as the model calls it, such as mcp__files__read.
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// CheckPermissions makes the call subject to the same permission checks as a call of the
	// model.
	CheckPermissions bool `json:"check_permissions,omitempty"`
}

// Subtype is mcp_call.
func (*MCPCall) Subtype() string { return "mcp_call" }

// MCPCallReply is what the tool answered.
type MCPCallReply struct {
	Content           List[json.RawMessage] `json:"content"`
	StructuredContent json.RawMessage       `json:"structuredContent,omitempty"`
	IsError           bool                  `json:"isError,omitempty"`
}

// GetContextUsage asks what fills the context.
type GetContextUsage struct {
	Base
	Detail json.RawMessage `json:"detail,omitempty"`
}

// Subtype is get_context_usage.
func (*GetContextUsage) Subtype() string { return "get_context_usage" }

// ContextUsage says what fills the context.
type ContextUsage struct {
	Categories   List[ContextCategory] `json:"categories"`
	TotalTokens  int                   `json:"totalTokens"`
	MaxTokens    int                   `json:"maxTokens"`
	RawMaxTokens int                   `json:"rawMaxTokens"`
	Percentage   float64               `json:"percentage"`
	// GridRows is the same as a picture: ten rows of ten squares.
	GridRows             List[List[ContextSquare]] `json:"gridRows"`
	Model                string                    `json:"model"`
	MemoryFiles          List[ContextFile]         `json:"memoryFiles"`
	MCPTools             List[ContextTool]         `json:"mcpTools"`
	Agents               List[ContextAgent]        `json:"agents"`
	Skills               *ContextSkills            `json:"skills,omitempty"`
	SlashCommands        *ContextCommands          `json:"slashCommands,omitempty"`
	MessageBreakdown     json.RawMessage           `json:"messageBreakdown,omitempty"`
	APIUsage             *Usage                    `json:"apiUsage"`
	AutoCompactThreshold int                       `json:"autoCompactThreshold,omitempty"`
	IsAutoCompactEnabled bool                      `json:"isAutoCompactEnabled"`
}

// ContextSquare is a square of the picture.
type ContextSquare struct {
	Color          string  `json:"color"`
	IsFilled       bool    `json:"isFilled"`
	CategoryName   string  `json:"categoryName"`
	Tokens         int     `json:"tokens"`
	Percentage     float64 `json:"percentage"`
	SquareFullness float64 `json:"squareFullness"`
}

// ContextFile is a file with instructions.
type ContextFile struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Tokens int    `json:"tokens"`
}

// ContextTool is a tool of an MCP server.
type ContextTool struct {
	Name       string `json:"name"`
	ServerName string `json:"serverName"`
	Tokens     int    `json:"tokens"`
	IsLoaded   bool   `json:"isLoaded,omitempty"`
}

// ContextAgent is an agent that work can be given to.
type ContextAgent struct {
	AgentType string `json:"agentType"`
	Source    string `json:"source"`
	Path      string `json:"path,omitempty"`
	Tokens    int    `json:"tokens"`
}

// ContextSkills are the skills that the model is offered.
type ContextSkills struct {
	TotalSkills      int                `json:"totalSkills"`
	IncludedSkills   int                `json:"includedSkills"`
	Tokens           int                `json:"tokens"`
	SkillFrontmatter List[ContextSkill] `json:"skillFrontmatter"`
}

// ContextSkill is one of them.
type ContextSkill struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Path   string `json:"path,omitempty"`
	Tokens int    `json:"tokens"`
}

// ContextCommands are the commands that the model may run.
type ContextCommands struct {
	TotalCommands    int `json:"totalCommands"`
	IncludedCommands int `json:"includedCommands"`
	Tokens           int `json:"tokens"`
}

// ContextCategory is one kind of content in the context.
type ContextCategory struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Color  string `json:"color"`
	Kind   string `json:"kind,omitempty"`
}

// GetUsage asks what the session has cost.
type GetUsage struct {
	Base
	SkipBehaviors bool `json:"skip_behaviors,omitempty"`
}

// Subtype is get_usage.
func (*GetUsage) Subtype() string { return "get_usage" }

// UsageReply says what the session has cost.
type UsageReply struct {
	Session             SessionUsage    `json:"session"`
	SubscriptionType    NullString      `json:"subscription_type"`
	RateLimitsAvailable bool            `json:"rate_limits_available"`
	RateLimits          json.RawMessage `json:"rate_limits"`
	Behaviors           json.RawMessage `json:"behaviors"`
}

// SessionUsage counts since the process started.
type SessionUsage struct {
	TotalCostUSD       float64               `json:"total_cost_usd"`
	TotalAPIDurationMS int64                 `json:"total_api_duration_ms"`
	TotalDurationMS    int64                 `json:"total_duration_ms"`
	TotalLinesAdded    int                   `json:"total_lines_added"`
	TotalLinesRemoved  int                   `json:"total_lines_removed"`
	ModelUsage         map[string]ModelUsage `json:"model_usage"`
}

// ReadFile reads a file where the CLI runs.
type ReadFile struct {
	Base
	Path     string `json:"path"`
	MaxBytes int    `json:"max_bytes,omitempty"`
	Encoding string `json:"encoding,omitempty"`
}

// Subtype is read_file.
func (*ReadFile) Subtype() string { return "read_file" }

// ReadFileReply is the content of the file.
type ReadFileReply struct {
	Contents string `json:"contents"`
	AbsPath  string `json:"absPath"`
	// Lossy says whether bytes that are not valid text were replaced; nil for base64, which
	// loses nothing.
	Lossy         *bool  `json:"lossy,omitempty"`
	Truncated     bool   `json:"truncated,omitempty"`
	Encoding      string `json:"encoding,omitempty"`
	RequestedPath string `json:"requested_path,omitempty"`
}

// RewindFiles restores files to how they were when a prompt was sent.
type RewindFiles struct {
	Base
	UserMessageID string `json:"user_message_id"`
	DryRun        bool   `json:"dry_run,omitempty"`
}

// Subtype is rewind_files.
func (*RewindFiles) Subtype() string { return "rewind_files" }

// RewindFilesReply says what was or would be changed.
type RewindFilesReply struct {
	CanRewind    bool         `json:"canRewind"`
	Error        string       `json:"error,omitempty"`
	FilesChanged List[string] `json:"filesChanged"`
	Insertions   int          `json:"insertions"`
	Deletions    int          `json:"deletions"`
	SkippedLinks *int         `json:"skippedLinks,omitempty"`
}

// SeedReadState says that the model knows the content that a file had at a given time.
type SeedReadState struct {
	Base
	Path  string  `json:"path"`
	MTime float64 `json:"mtime"` // milliseconds since 1970
}

// Subtype is seed_read_state.
func (*SeedReadState) Subtype() string { return "seed_read_state" }

// ReloadPlugins loads the plugins again.
type ReloadPlugins struct {
	Base
	HoldOnCacheImpact bool            `json:"hold_on_cache_impact,omitempty"`
	AddPlugins        json.RawMessage `json:"add_plugins,omitempty"`
	// RefuseIfBusy wants an error with the code [ErrorPluginsBusy] while a turn runs.
	RefuseIfBusy bool `json:"refuse_if_busy,omitempty"`
}

// ErrorPluginsBusy is the error code of a reload that must not disturb a turn.
const ErrorPluginsBusy = "reload_plugins_busy"

// Subtype is reload_plugins.
func (*ReloadPlugins) Subtype() string { return "reload_plugins" }

// ReloadPluginsReply lists what is loaded.
type ReloadPluginsReply struct {
	Commands   List[Command]         `json:"commands"`
	Agents     List[AgentInfo]       `json:"agents"`
	Plugins    List[Plugin]          `json:"plugins"`
	MCPServers List[MCPServerStatus] `json:"mcpServers"`
	ErrorCount int                   `json:"error_count"`
	// Held is set if the request asked to stop when it would affect the cache.
	Held *bool `json:"held,omitempty"`
}

// ReloadSkills looks for skills again.
type ReloadSkills struct{ Base }

// Subtype is reload_skills.
func (*ReloadSkills) Subtype() string { return "reload_skills" }

// ReloadSkillsReply lists the skills.
type ReloadSkillsReply struct {
	Skills List[Command] `json:"skills"`
}

// ReloadOutputStyles looks for output styles again.
type ReloadOutputStyles struct{ Base }

// Subtype is reload_output_styles.
func (*ReloadOutputStyles) Subtype() string { return "reload_output_styles" }

// ReloadOutputStylesReply lists the output styles.
type ReloadOutputStylesReply struct {
	AvailableOutputStyles List[string] `json:"available_output_styles"`
}

// StopTask stops a background task.
type StopTask struct {
	Base
	TaskID string `json:"task_id"`
}

// Subtype is stop_task.
func (*StopTask) Subtype() string { return "stop_task" }

// BackgroundTasks moves running calls into the background: one, or all.
type BackgroundTasks struct {
	Base
	ToolUseID string `json:"tool_use_id,omitempty"`
}

// Subtype is background_tasks.
func (*BackgroundTasks) Subtype() string { return "background_tasks" }

// BackgroundTasksReply is false if no call matched.
type BackgroundTasksReply struct {
	Backgrounded *bool `json:"backgrounded,omitempty"`
}

// EndSession lets the current turn finish and then ends the process.
type EndSession struct{ Base }

// Subtype is end_session.
func (*EndSession) Subtype() string { return "end_session" }

// ClaimSession gives a waiting process a folder to work in.
type ClaimSession struct {
	Base
	Cwd               string          `json:"cwd"`
	SDKMCPServers     json.RawMessage `json:"sdk_mcp_servers,omitempty"`
	IncludeInitialize bool            `json:"include_initialize,omitempty"`
}

// Subtype is claim_session.
func (*ClaimSession) Subtype() string { return "claim_session" }

// ClaimSessionReply is the session that was claimed.
type ClaimSessionReply struct {
	Status        string           `json:"status"`
	Cwd           string           `json:"cwd"`
	SessionID     string           `json:"session_id"`
	ParkedMS      int64            `json:"parked_ms"`
	SDKMCPSettled bool             `json:"sdk_mcp_settled"`
	Initialize    *InitializeReply `json:"initialize,omitempty"`
}
