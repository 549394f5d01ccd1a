package answers

import (
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/text/lang"
)

// Meaning says what a setting is for, with its default, if that is known, in parentheses.
func Meaning(words *lang.Catalogue, k settings.Knob) string { return words.T(meanings[k.Key]) }

// meanings are what the settings are for, by their keys.
var meanings = map[string]lang.Text{
	"agent":                                    "the main agent of a session",
	"agents.background":                        "whether agents work in the background by default (true)",
	"agents.cwd":                               "whether the model can choose the folder that an agent starts in (false)",
	"agents.firstTokenSeconds":                 "how many seconds an agent's model may take to begin its answer (180)",
	"agents.idleSeconds":                       "seconds without activity after which an agent counts as stalled (300)",
	"agents.maxDepth":                          "how many levels deep agents can start other agents (2)",
	"agents.maxRunning":                        "how many agents may work at the same time (64)",
	"agents.maxTokens":                         "how many tokens one agent may use (no limit)",
	"alwaysThinkingEnabled":                    "whether the model thinks, if it can (true)",
	"allowManagedHooksOnly":                    "in managed settings: only their hooks run",
	"allowManagedMcpServersOnly":               "in managed settings: only the MCP servers that they allow may be used",
	"allowManagedPermissionRulesOnly":          "in managed settings: only their permission rules count",
	"apiKeyHelper":                             "a command that prints the API key",
	"bash.endAtTimeout":                        "stop a command at its timeout instead of moving it to the background (false)",
	"bash.keepEscapes":                         "leave terminal escape sequences in results (false)",
	"calls.afterFailure":                       "what happens to the other calls of an answer after a command fails (continue)",
	"calls.sameResults.stop":                   "how many times a call may return the same result before the turn ends (8)",
	"calls.sameResults.warn":                   "how many times a call may return the same result before the model is told (3)",
	"disableAllHooks":                          "run no hooks (false)",
	"disableSkillShellExecution":               "keep skills and commands from running shell commands in their text (false)",
	"editorMode":                               "the key bindings of the input box (normal)",
	"effortLevel":                              "how much the model thinks, if it supports that",
	"enableAllProjectMcpServers":               "approve every MCP server of every project (false)",
	"mcp.deferPercent":                         "percentage of the context that MCP tool descriptions may fill before they are loaded only when needed",
	"mcp.log":                                  "log every message to and from MCP servers (false)",
	"mcp.registry":                             "the registry of MCP servers that haft mcp add searches",
	"mcp.sampling":                             "let MCP servers send requests to the model, after asking you (false)",
	"mcp.samplingTokens":                       "how many tokens the model may generate for one MCP server in a session (10000)",
	"mcp.wait":                                 "how many milliseconds haft -p waits for MCP servers (10000)",
	"model":                                    "the model that answers",
	"outputStyle":                              "how answers are written",
	"permissions.defaultMode":                  "the permission mode that a session starts in (default)",
	"permissions.disableAutoMode":              "\"disable\" turns off the permission mode auto",
	"permissions.disableBypassPermissionsMode": "\"disable\" turns off the permission mode bypassPermissions",
	"plugins.checkForUpdates":                  "look for updates of plugins once a day and list them (false)",
	"preview":                                  "preview what commands would change",
	"sandbox.allowUnsandboxedCommands":         "whether the model may ask to run a command without the sandbox (true)",
	"sandbox.autoAllowBashIfSandboxed":         "with sandbox.enabled: run confined commands without asking (true)",
	"sandbox.enabled":                          "confine commands to the project (false)",
	"sandbox.failIfUnavailable":                "with sandbox.enabled: refuse to start where there is no sandbox (false)",
	"sandbox.hooks":                            "confine hooks to the project (false)",
	"sandbox.mcpServers":                       "which local MCP servers may write only in the project (project)",
	"sandbox.mode":                             "whether commands are confined: where possible, always, or never (prefer)",
	"sandbox.network.allowManagedDomainsOnly":  "in managed settings: ignore the domains that other settings allow",
	"search.noSavedIndex":                      "do not save the search index (false)",
	"theme":                                    "the colours of the terminal",
	"todoTools":                                "which to-do tools the model gets (auto)",
	"uiLanguage":                               "the language of haft's messages (that of the system)",
	"webFetch.model":                           "the model that answers questions about pages",
	"webSearch.endpoint":                       "the address of a SearXNG server for WebSearch",
}
