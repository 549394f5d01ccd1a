package project

import (
	"slices"
	"strings"
)

// A Variable is one of Claude Code's environment.
type Variable struct {
	Name string
	// Does is what haft does with it, or why it has to do nothing.
	Does string
}

// Variables are those of Claude Code's environment that haft honours, or that ask for nothing
// which haft does not do anyway. The table in docs/migrate.md is made of it. All others with
// such names have no effect, and Unused names them.
func Variables() []Variable {
	return []Variable{
		{"ANTHROPIC_API_KEY", "the key of the API"},
		{"ANTHROPIC_AUTH_TOKEN", "a bearer token in place of the key"},
		{"ANTHROPIC_BASE_URL", "the address of the API or of a gateway"},
		{"ANTHROPIC_BEDROCK_BASE_URL", "the address of Bedrock"},
		{"ANTHROPIC_BETAS", "features of the API, separated by commas"},
		{"ANTHROPIC_CUSTOM_HEADERS", "headers of every request"},
		{"ANTHROPIC_DEFAULT_HAIKU_MODEL", "what the name haiku means"},
		{"ANTHROPIC_DEFAULT_OPUS_MODEL", "what the name opus means"},
		{"ANTHROPIC_DEFAULT_SONNET_MODEL", "what the name sonnet means"},
		{"ANTHROPIC_FOUNDRY_API_KEY", "the key of Foundry"},
		{"ANTHROPIC_FOUNDRY_AUTH_TOKEN", "a bearer token for Foundry"},
		{"ANTHROPIC_FOUNDRY_BASE_URL", "the address of Foundry"},
		{"ANTHROPIC_FOUNDRY_RESOURCE", "the resource in Foundry"},
		{"ANTHROPIC_MODEL", "the model"},
		{"ANTHROPIC_SMALL_FAST_MODEL", "the model for small tasks"},
		{"ANTHROPIC_VERTEX_BASE_URL", "the address of Vertex"},
		{"ANTHROPIC_VERTEX_PROJECT_ID", "the project in Vertex"},
		{"BASH_DEFAULT_TIMEOUT_MS", "the timeout of commands"},
		{"BASH_MAX_OUTPUT_LENGTH", "the longest output of a command"},
		{"BASH_MAX_TIMEOUT_MS", "the longest timeout that a model may choose"},
		{"CLAUDECODE", "haft sets it for commands and hooks"},
		{"CLAUDE_AGENT_SDK_CLIENT_APP", "nothing depends on it"},
		{"CLAUDE_AGENT_SDK_MCP_NO_PREFIX", "set by the SDK for its own tools"},
		{"CLAUDE_AGENT_SDK_VERSION", "nothing depends on it"},
		{"CLAUDE_BASH_TIMEOUT_MS", "the timeout of commands"},
		{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "no commands in the background"},
		{"CLAUDE_CODE_DISABLE_CLAUDE_MDS", "no instructions from files"},
		{"CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY", "haft has nothing of the kind"},
		{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "haft has nothing of the kind"},
		{"CLAUDE_CODE_DISABLE_TERMINAL_TITLE", "the title of the terminal stays"},
		{"CLAUDE_CODE_EFFORT_LEVEL", "how hard the model thinks"},
		{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "the program reads the state of the session"},
		{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "haft always keeps what a rewind needs"},
		{"CLAUDE_CODE_ENABLE_TASKS", "which tools for lists of work there are"},
		{"CLAUDE_CODE_ENABLE_TODO_TOOLS", "which tools for lists of work there are"},
		{"CLAUDE_CODE_ENTRYPOINT", "which program started haft"},
		{"CLAUDE_CODE_EXECPATH", "nothing depends on it"},
		{"CLAUDE_CODE_EXECUTABLE", "what the official adapter for editors starts"},
		{"CLAUDE_CODE_MAX_CONTEXT_TOKENS", "the size of the model's window"},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "the longest answer"},
		{"CLAUDE_CODE_MAX_RETRIES", "how often a request is tried again"},
		{"CLAUDE_CODE_OAUTH_TOKEN", "a bearer token of a subscription, if there is no key"},
		{"CLAUDE_CODE_SAFE_MODE", "the same as --safe-mode"},
		{"CLAUDE_CODE_SDK_READS_SESSION_STATE", "the program reads the state of the session"},
		{"CLAUDE_CODE_SESSION_ID", "haft sets it for hooks"},
		{"CLAUDE_CODE_SIMPLE", "only the tools Bash, Read and Edit"},
		{"CLAUDE_CODE_SKIP_BEDROCK_AUTH", "a gateway signs the requests to Bedrock"},
		{"CLAUDE_CODE_SKIP_FOUNDRY_AUTH", "a gateway signs the requests to Foundry"},
		{"CLAUDE_CODE_SKIP_VERTEX_AUTH", "a gateway signs the requests to Vertex"},
		{"CLAUDE_CODE_SSE_PORT", "nothing depends on it"},
		{"CLAUDE_CODE_STREAM_CLOSE_TIMEOUT", "nothing depends on it"},
		{"CLAUDE_CODE_SUBAGENT_MODEL", "the model of all sub-agents"},
		{"CLAUDE_CODE_USE_ANTHROPIC_AWS", "refused: haft cannot ask this provider"},
		{"CLAUDE_CODE_USE_BEDROCK", "asks Bedrock"},
		{"CLAUDE_CODE_USE_FOUNDRY", "asks Foundry"},
		{"CLAUDE_CODE_USE_MANTLE", "refused: haft cannot ask this provider"},
		{"CLAUDE_CODE_USE_VERTEX", "asks Vertex"},
		{"CLAUDE_CONFIG_DIR", "the folder in the place of ~/.claude"},
		{"CLAUDE_EFFORT", "haft sets it for hooks"},
		{"CLAUDE_ENV_FILE", "the file of a SessionStart hook with variables for commands"},
		{"CLAUDE_PLUGIN_ROOT", "haft sets it for the programs of plugins"},
		{"CLAUDE_PROJECT_DIR", "haft sets it for hooks"},
		{"DISABLE_AUTOUPDATER", "haft does not update itself"},
		{"DISABLE_AUTO_COMPACT", "haft compacts only on request"},
		{"DISABLE_BUG_COMMAND", "haft has nothing of the kind"},
		{"DISABLE_COMPACT", "haft compacts only on request"},
		{"DISABLE_COST_WARNINGS", "haft has nothing of the kind"},
		{"DISABLE_ERROR_REPORTING", "haft has nothing of the kind"},
		{"DISABLE_FEEDBACK_COMMAND", "haft has nothing of the kind"},
		{"DISABLE_GROWTHBOOK", "haft has nothing of the kind"},
		{"DISABLE_INSTALLATION_CHECKS", "haft has nothing of the kind"},
		{"DISABLE_TELEMETRY", "haft has nothing of the kind"},
		{"DISABLE_UPDATES", "haft does not update itself"},
		{"ENABLE_TOOL_SEARCH", "when tools are loaded by ToolSearch"},
		{"MAX_MCP_OUTPUT_TOKENS", "the longest result of an MCP server"},
		{"MAX_THINKING_TOKENS", "the most tokens for thinking; 0 turns it off"},
		{"MCP_CLIENT_SECRET", "the secret of an OAuth client"},
		{"MCP_TIMEOUT", "how long an MCP server may take to start"},
		{"MCP_TOOL_TIMEOUT", "how long a call of an MCP server may take"},
		{"USE_BUILTIN_RIPGREP", "haft always searches by itself"},
	}
}

// prefixes and others are how the names of Claude Code's variables begin, and those that begin
// otherwise.
var (
	prefixes = []string{"ANTHROPIC_", "CLAUDE_", "CLAUDECODE", "DISABLE_", "USE_BUILTIN_", "SLASH_COMMAND_TOOL_", "TASK_MAX_OUTPUT", "BASH_MAX_", "MCP_TOOL_", "MAX_MCP_"}
	others   = []string{
		"API_FORCE_IDLE_TIMEOUT", "API_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", "CCR_AGENT_PROXY_TOKEN_FILE_DESCRIPTOR",
		"CCR_FORCE_BUNDLE", "CCR_ON_BRANCH_DEFAULT_GUARD", "CCR_SHR_SSE_HINTS", "CCR_SPAWN_TIMESTAMP_MS", "ENABLE_CLAUDEAI_MCP_SERVERS",
		"ENABLE_ENHANCED_TELEMETRY_BETA", "ENABLE_TOOL_SEARCH", "FALLBACK_FOR_ALL_PRIMARY_MODELS", "FORCE_AUTOUPDATE_PLUGINS",
		"FORCE_CODE_TERMINAL", "MAX_STRUCTURED_OUTPUT_RETRIES", "MAX_THINKING_TOKENS", "MCP_CLIENT_SECRET", "MCP_CONNECTION_NONBLOCKING",
		"MCP_OAUTH_CALLBACK_PORT", "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", "MCP_SERVER_CONNECTION_BATCH_SIZE", "MCP_TIMEOUT",
		"OTEL_LOG_RAW_API_BODIES", "OTEL_LOG_TOOL_CONTENT", "OTEL_LOG_TOOL_DETAILS", "OTEL_LOG_USER_PROMPTS",
	}
)

// Foreign reports whether a variable has a name of Claude Code's.
func Foreign(name string) bool {
	return slices.Contains(others, name) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// maxTold bounds the file of what a user was told.
const maxTold = 64 << 10
