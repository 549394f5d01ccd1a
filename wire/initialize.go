package wire

import "encoding/json"

// Initialize is a host's first request. It contains what flags cannot express, such as hooks.
// The answer is an [InitializeReply].
type Initialize struct {
	Base
	// Hooks says which callbacks of the host to call at which event.
	Hooks map[string][]HookMatcher `json:"hooks,omitempty"`
	// SDKMCPServers are the MCP servers inside the host, reached by [MCPMessage].
	SDKMCPServers []string `json:"sdkMcpServers,omitempty"`
	// SDKMCPServerManifests say what those servers would answer to initialize and
	// tools/list, so that they do not have to be asked.
	SDKMCPServerManifests map[string]MCPManifest     `json:"sdkMcpServerManifests,omitempty"`
	SDKMCPServerConfigs   map[string]json.RawMessage `json:"sdkMcpServerConfigs,omitempty"`
	// JSONSchema describes the structured output that is wanted.
	JSONSchema json.RawMessage `json:"jsonSchema,omitempty"`
	// SystemPrompt replaces the default prompt. Nil means the default; one empty
	// string means no prompt at all.
	SystemPrompt           []string          `json:"systemPrompt,omitempty"`
	AppendSystemPrompt     string            `json:"appendSystemPrompt,omitempty"`
	SystemPromptSnapshot   json.RawMessage   `json:"systemPromptSnapshot,omitempty"`
	ExcludeDynamicSections *bool             `json:"excludeDynamicSections,omitempty"`
	PlanModeInstructions   string            `json:"planModeInstructions,omitempty"`
	ToolAliases            map[string]string `json:"toolAliases,omitempty"`
	Agents                 map[string]Agent  `json:"agents,omitempty"`
	Title                  string            `json:"title,omitempty"`
	// Skills are the only ones that the model may use; nil means all.
	Skills                 []string `json:"skills,omitempty"`
	PromptSuggestions      *bool    `json:"promptSuggestions,omitempty"`
	AgentProgressSummaries *bool    `json:"agentProgressSummaries,omitempty"`
	ForwardSubagentText    *bool    `json:"forwardSubagentText,omitempty"`
	SupportedDialogKinds   []string `json:"supportedDialogKinds,omitempty"`
	PerTaskStopAffordance  *bool    `json:"perTaskStopAffordance,omitempty"`
	// Plugins are loaded as those of --plugin-dir are.
	Plugins []PluginConfig `json:"plugins,omitempty"`
	// ManagedSettings are those of --managed-settings. They count only with the flag
	// --managed-settings-in-initialize, without which no host relies on them.
	ManagedSettings json.RawMessage `json:"managedSettings,omitempty"`
}

// PluginConfig is a plugin that a host provides.
type PluginConfig struct {
	// Type is local.
	Type string `json:"type"`
	Path string `json:"path"`
	// SkipMCPDiscovery leaves its MCP servers out.
	SkipMCPDiscovery bool `json:"skipMcpDiscovery,omitempty"`
}

// Subtype is initialize.
func (*Initialize) Subtype() string { return "initialize" }

// HookMatcher binds callbacks of the host to the calls that Matcher matches.
type HookMatcher struct {
	// Matcher is as in settings; "" matches everything.
	Matcher         string   `json:"matcher,omitempty"`
	HookCallbackIDs []string `json:"hookCallbackIds"`
	// Timeout is in seconds.
	Timeout float64 `json:"timeout,omitempty"`
	// OnFailure set to block makes an error of the callback block.
	OnFailure string `json:"onFailure,omitempty"`
}

// MCPManifest is what an MCP server would answer.
type MCPManifest struct {
	InitializeResult json.RawMessage `json:"initializeResult"`
	ToolsListResult  json.RawMessage `json:"toolsListResult"`
}

// Agent defines a sub-agent.
type Agent struct {
	Description     string            `json:"description"`
	Prompt          string            `json:"prompt"`
	Tools           []string          `json:"tools,omitempty"`
	DisallowedTools []string          `json:"disallowedTools,omitempty"`
	Model           string            `json:"model,omitempty"`
	PermissionMode  string            `json:"permissionMode,omitempty"`
	MaxTurns        int               `json:"maxTurns,omitempty"`
	Background      *bool             `json:"background,omitempty"`
	Skills          []string          `json:"skills,omitempty"`
	MCPServers      []json.RawMessage `json:"mcpServers,omitempty"`
	// Effort is a word such as low, or a number.
	Effort json.RawMessage `json:"effort,omitempty"`
	// InitialPrompt is sent first if this is the main agent.
	InitialPrompt string `json:"initialPrompt,omitempty"`
	// Hooks run for its calls and at its end, written as in a settings file.
	Hooks json.RawMessage `json:"hooks,omitempty"`
}

// InitializeReply says what the CLI offers.
type InitializeReply struct {
	Commands               List[Command]   `json:"commands"`
	Agents                 List[AgentInfo] `json:"agents"`
	OutputStyle            string          `json:"output_style"`
	AvailableOutputStyles  List[string]    `json:"available_output_styles"`
	Models                 List[ModelInfo] `json:"models"`
	Account                Account         `json:"account"`
	PID                    int             `json:"pid,omitempty"`
	ClaudeCodeVersion      string          `json:"claude_code_version,omitempty"`
	CurrentPermissionMode  string          `json:"current_permission_mode,omitempty"`
	SessionState           string          `json:"session_state,omitempty"`
	Capabilities           []string        `json:"capabilities,omitempty"`
	HookOnFailureSupported bool            `json:"hook_on_failure_supported,omitempty"`
	HooksApplied           *bool           `json:"hooks_applied,omitempty"`
	// HooksApplied and PluginsApplied say whether those that the host provided are used;
	// nil if it provided none.
	PluginsApplied        *bool           `json:"plugins_applied,omitempty"`
	SDKMCPManifestsParked json.RawMessage `json:"sdk_mcp_manifests_parked,omitempty"`
	FastModeState         string          `json:"fast_mode_state,omitempty"`
}

// Command is a slash command.
type Command struct {
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	ArgumentHint string   `json:"argumentHint"`
	Aliases      []string `json:"aliases,omitempty"`
	Builtin      bool     `json:"builtin,omitempty"`
}

// AgentInfo is a kind of sub-agent.
type AgentInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Model       string `json:"model,omitempty"`
}

// ModelInfo is a model that can be chosen.
type ModelInfo struct {
	Value                    string   `json:"value"`
	ResolvedModel            string   `json:"resolvedModel,omitempty"`
	DisplayName              string   `json:"displayName"`
	Description              string   `json:"description"`
	SupportsEffort           bool     `json:"supportsEffort,omitempty"`
	SupportedEffortLevels    []string `json:"supportedEffortLevels,omitempty"`
	SupportsAdaptiveThinking bool     `json:"supportsAdaptiveThinking,omitempty"`
	SupportsFastMode         bool     `json:"supportsFastMode,omitempty"`
	SupportsAutoMode         bool     `json:"supportsAutoMode,omitempty"`
}

// Account identifies the account that pays.
type Account struct {
	Email            string `json:"email,omitempty"`
	Organization     string `json:"organization,omitempty"`
	SubscriptionType string `json:"subscriptionType,omitempty"`
	TokenSource      string `json:"tokenSource,omitempty"`
	APIKeySource     string `json:"apiKeySource,omitempty"`
	APIProvider      string `json:"apiProvider,omitempty"`
}
