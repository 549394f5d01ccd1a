package haft

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/haftdev/haft/wire"
)

// A Mode is a permission mode: what is allowed without asking.
type Mode string

// The permission modes.
const (
	DefaultMode       Mode = "default"
	AcceptEdits       Mode = "acceptEdits"
	Plan              Mode = "plan"
	Auto              Mode = "auto"
	DontAsk           Mode = "dontAsk"
	BypassPermissions Mode = "bypassPermissions"
)

// Options say how to start the command line. The zero value and nil mean its
// defaults.
type Options struct {
	// CLI is the command line's executable; "" means the one in the environment variable
	// HAFT_CLI, or else haft in the PATH.
	CLI string
	// Transport replaces the process; nil means the process.
	Transport Transport
	// Dir is the working directory; "" means this program's.
	Dir string
	// AddDirs are more directories that tools may use.
	AddDirs []string
	// Env is the environment, as name=value; nil means this program's.
	Env []string
	// Stderr is called with each line that the command line writes to standard error; nil
	// drops them. Errors contain the last lines in any case.
	Stderr func(line string)
	// Grace is how long the process has to exit by itself after its input was closed, and
	// again after it was asked to terminate; 0 means two seconds.
	Grace time.Duration
	// StartTimeout is how long it may take to answer the first request; 0 means a
	// minute.
	StartTimeout time.Duration

	// Model is the model's name; "" means the configured one.
	Model string
	// FallbackModel takes over when Model is overloaded; "" means none.
	FallbackModel string
	// Effort is how hard the model thinks: low, medium, high, xhigh or max; "" means its
	// default.
	Effort string
	// MaxThinkingTokens limits thinking; 0 means the model's default, a negative number no
	// thinking.
	MaxThinkingTokens int
	// SystemPrompt replaces the system prompt; nil means the default prompt, a pointer to
	// "" means none.
	SystemPrompt *string
	// AppendSystemPrompt is added to the default prompt.
	AppendSystemPrompt string
	// Betas are API features to turn on.
	Betas []string

	// MaxTurns limits the requests to the model in each turn; 0 means no limit.
	MaxTurns int
	// MaxBudgetUSD limits the cost; 0 means no limit.
	MaxBudgetUSD float64
	// Budget is shared with others, in addition to MaxBudgetUSD; nil means none. A query or
	// client waits until it can set something aside, and fails with ErrBudget once all is spent.
	Budget *Budget

	// Tools are the built-in tools to offer; nil means the default ones, an empty slice
	// none.
	Tools []string
	// AllowedTools and DisallowedTools are permission rules, such as Bash(git *).
	AllowedTools    []string
	DisallowedTools []string
	// Mode is the permission mode; "" means the configured one. BypassPermissions needs no
	// other option.
	Mode Mode
	// CanUseTool decides about calls that the rules leave open; nil leaves them to
	// the command line, which denies them.
	CanUseTool PermissionFunc
	// Questions yields the calls that the rules leave open as messages of type *Question,
	// between the others, which the program answers; CanUseTool is then not called.
	Questions bool
	// Hooks are functions that run at certain points of the session.
	Hooks []Hook
	// MCPServers are servers whose tools the model can use, by name: see Stdio, HTTP, SSE
	// and Tools.
	MCPServers map[string]MCPServer
	// StrictMCP ignores servers that are configured elsewhere.
	StrictMCP bool
	// Elicit asks a user for what an MCP server wants to know; nil declines.
	Elicit func(context.Context, *Elicitation) (*ElicitationReply, error)
	// Agents are kinds of sub-agents, by name.
	Agents map[string]Agent

	// Resume is the id of a session to continue; "" starts a new one.
	Resume string
	// ResumeAt continues after the message with this id, not at the end.
	ResumeAt string
	// Continue continues the most recent session in Dir.
	Continue bool
	// Fork continues the session in a new one.
	Fork bool
	// SessionID is the id of the new session; "" means a random one.
	SessionID string
	// NoPersistence keeps the session from being stored.
	NoPersistence bool
	// FileCheckpoints makes Client.Rewind possible on command lines that need it turned on.
	FileCheckpoints bool

	// OutputSchema is a JSON Schema for the answer; nil means text. QueryInto derives it
	// from a type.
	OutputSchema json.RawMessage
	// PartialMessages asks for a StreamEvent for every piece of an answer.
	PartialMessages bool
	// HookEvents asks for messages about hooks that are configured in files.
	HookEvents bool
	// ToolProgress asks for a message for each state of a call, and for what tools report while
	// they run, at most a few times a second. Only haft sends them; Claude Code does not
	// start then.
	ToolProgress bool

	// SettingSources are the settings files to read: user, project, local; nil means all,
	// an empty slice none.
	SettingSources []string
	// Settings override those, as JSON or as the path of a file.
	Settings string
	// Plugins are directories of plugins.
	Plugins []string
	// ExtraArgs are more flags, passed as they are.
	ExtraArgs []string
	// Customize changes the first request before it is sent, for fields that have no
	// option; nil leaves it unchanged.
	Customize func(*wire.Initialize)
}

// Types that callbacks and options use.
type (
	// Agent defines a kind of sub-agent.
	// Its fields are those of [wire.Agent].
	Agent = wire.Agent
	// Elicitation is a question of an MCP server to the user. Its fields are those of
	// [wire.Elicitation].
	Elicitation = wire.Elicitation
	// ElicitationReply is what the user did about it.
	// Its fields are those of [wire.ElicitationReply].
	ElicitationReply = wire.ElicitationReply
)

func (o *Options) clone() *Options {
	if o == nil {
		o = &Options{}
	}
	c := *o
	if c.Grace <= 0 {
		c.Grace = 2 * time.Second
	}
	if c.StartTimeout <= 0 {
		c.StartTimeout = time.Minute
	}
	return &c
}

// args returns the command line's flags.
func (o *Options) args() ([]string, error) {
	f := flags{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json"}
	o.modelFlags(&f)
	o.permissionFlags(&f)
	if err := o.mcpFlags(&f); err != nil {
		return nil, err
	}
	o.sessionFlags(&f)
	f.text("json-schema", string(o.OutputSchema))
	f.on("include-partial-messages", o.PartialMessages)
	f.on("include-hook-events", o.HookEvents)
	f.on("include-tool-progress", o.ToolProgress)
	f.maybe("setting-sources", o.SettingSources)
	f.each("add-dir", o.AddDirs)
	f.each("plugin-dir", o.Plugins)
	f = append(f, o.ExtraArgs...)
	if o.Settings != "" {
		f = append(f, "--settings", o.Settings)
	}
	return f, nil
}

func (o *Options) modelFlags(f *flags) {
	f.text("model", o.Model)
	f.text("fallback-model", o.FallbackModel)
	f.text("effort", o.Effort)
	switch n := o.MaxThinkingTokens; {
	case n < 0:
		f.add("thinking", "disabled")
	case n > 0:
		f.add("max-thinking-tokens", strconv.Itoa(n))
	}
	f.list("betas", o.Betas)
	if o.MaxTurns > 0 {
		f.add("max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.MaxBudgetUSD > 0 {
		f.add("max-budget-usd", strconv.FormatFloat(o.MaxBudgetUSD, 'f', -1, 64))
	}
}

func (o *Options) permissionFlags(f *flags) {
	f.maybe("tools", o.Tools)
	f.list("allowedTools", o.AllowedTools)
	f.list("disallowedTools", o.DisallowedTools)
	f.text("permission-mode", string(o.Mode))
	f.on("allow-dangerously-skip-permissions", o.Mode == BypassPermissions)
	if o.CanUseTool != nil {
		f.add("permission-prompt-tool", "stdio")
	}
}

func (o *Options) mcpFlags(f *flags) error {
	configs := map[string]json.RawMessage{}
	for name, server := range o.MCPServers {
		if _, here := server.(*ToolServer); here {
			continue
		}
		config, err := mcpConfig(name, server)
		if err != nil {
			return err
		}
		configs[name] = config
	}
	if len(configs) > 0 {
		all, err := json.Marshal(map[string]any{"mcpServers": configs})
		if err != nil {
			return fmt.Errorf("encode MCP servers: %w", err)
		}
		*f = append(*f, "--mcp-config", string(all))
	}
	f.on("strict-mcp-config", o.StrictMCP)
	return nil
}

func (o *Options) sessionFlags(f *flags) {
	f.text("resume", o.Resume)
	f.text("resume-session-at", o.ResumeAt)
	f.on("continue", o.Continue)
	f.on("fork-session", o.Fork)
	f.text("session-id", o.SessionID)
	f.on("no-session-persistence", o.NoPersistence)
}

// environ returns the environment. The names are those that command lines of this protocol
// read.
func (o *Options) environ() []string {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	env = append(env[:len(env):len(env)],
		"CLAUDE_CODE_ENTRYPOINT=sdk-go",
		"CLAUDE_AGENT_SDK_VERSION="+version,
		"CLAUDE_CODE_SDK_READS_SESSION_STATE=1")
	if o.FileCheckpoints {
		env = append(env, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true")
	}
	return env
}

// initialize returns the first request.
func (o *Options) initialize(hooks map[string][]wire.HookMatcher) (*wire.Initialize, error) {
	r := &wire.Initialize{
		Hooks:              hooks,
		JSONSchema:         o.OutputSchema,
		AppendSystemPrompt: o.AppendSystemPrompt,
		Agents:             o.Agents,
	}
	if o.SystemPrompt != nil {
		r.SystemPrompt = []string{*o.SystemPrompt}
	}
	for name, server := range o.MCPServers {
		tools, ok := server.(*ToolServer)
		if !ok {
			continue
		}
		manifest, err := tools.manifest(name)
		if err != nil {
			return nil, err
		}
		if r.SDKMCPServerManifests == nil {
			r.SDKMCPServerManifests = map[string]wire.MCPManifest{}
		}
		r.SDKMCPServers = append(r.SDKMCPServers, name)
		r.SDKMCPServerManifests[name] = *manifest
	}
	slices.Sort(r.SDKMCPServers)
	if o.Customize != nil {
		o.Customize(r)
	}
	return r, nil
}
