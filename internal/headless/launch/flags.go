package launch

import (
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flags are those of a conversation.
type Flags struct {
	// Output and Input are the formats: text, json or stream-json.
	Output, Input string
	// Resume is the session to continue with, at the message ResumeAt; Continue means
	// the newest one of the folder.
	Resume, ResumeAt string
	Continue         bool
	// Debug says more to the user who looks for a fault, DebugFile says it into a
	// file.
	Debug     string
	DebugFile string

	model          string
	fallback       string
	mode           string
	bypass         bool
	mayBypass      bool
	allowed        []string
	disallowed     []string
	tools          []string
	bare           bool
	system         string
	appendSystem   string
	fork           bool
	sessionID      string
	forget         bool
	addDirs        []string
	plugins        []string
	settings       string
	sources        string
	schema         string
	partial        bool
	hookEvents     bool
	replay         bool
	promptTool     string
	prompts        string
	maxTurns       int
	maxBudget      float64
	maxTime        time.Duration
	thinking       string
	thinkingShow   string
	thinkingTokens int
	effort         string
	betas          []string
	servers        []string
	strict         bool
	agent          string
	mirror         bool
	taskBudget     int
	managed        string
	dropsTurn      string
	awaits         bool
	trustProject   bool
	iKnow          bool
	ignoreHooks    bool
	ignoreBadRules bool
	preview        string
	agents         string
	systemFile     string
	appendFile     string
	name           string
	noCommands     bool
	agentTexts     bool
	restricted     bool
	toolsOn        string
}

// Define defines the flags. The names are Claude Code's, so that scripts and SDKs
// written for it work.
func (f *Flags) Define(fs *pflag.FlagSet) {
	fs.StringVar(&f.Output, "output-format", "text", "with -p: text, json (one result) or stream-json (every event)")
	fs.StringVar(&f.Input, "input-format", "text", "text, or stream-json: messages on standard input")
	fs.StringVar(&f.model, "model", "", "the model: an alias such as sonnet, or its full name")
	fs.StringVar(&f.fallback, "fallback-model", "", "the model to use when the first one is overloaded")
	fs.StringVar(&f.mode, "permission-mode", "", "permission mode: default (or manual), acceptEdits, plan, auto, dontAsk or bypassPermissions")
	fs.StringVar(&f.preview, "preview", "", "preview commands that no rule allows or denies: 'ask' asks about their changes, 'auto' drops the changes that no rule allows, 'off' asks about the command instead")
	fs.BoolVar(&f.bypass, "dangerously-skip-permissions", false, "use the mode bypassPermissions; deny rules still apply")
	fs.BoolVar(&f.mayBypass, "allow-dangerously-skip-permissions", false, "let the session change to the mode bypassPermissions")
	for _, name := range []string{"allowedTools", "allowed-tools"} {
		fs.Var((*words)(&f.allowed), name, "rules for calls that need no approval, such as 'Bash(go test:*)'")
	}
	for _, name := range []string{"disallowedTools", "disallowed-tools"} {
		fs.Var((*words)(&f.disallowed), name, "rules for calls that are denied")
	}
	fs.Var((*words)(&f.tools), "tools", "the only tools to offer; 'default' means all, '' means none")
	fs.StringVar(&f.toolsOn, "tools-on", "", "run the tools on another machine, in a folder there: ssh://[user@]host[:port]/dir or docker:CONTAINER:/dir")
	fs.BoolVar(&f.bare, "bare", false, "offer only the tools Bash, Read and Edit")
	fs.StringVar(&f.system, "system-prompt", "", "replace the system prompt")
	fs.StringVar(&f.systemFile, "system-prompt-file", "", "replace the system prompt with the contents of a file")
	fs.StringVar(&f.appendSystem, "append-system-prompt", "", "add to the system prompt")
	fs.StringVar(&f.appendFile, "append-system-prompt-file", "", "add the contents of a file to the system prompt")
	fs.StringVarP(&f.Resume, "resume", "r", "", "resume the session with this id; without an id, choose from a list")
	fs.StringVar(&f.ResumeAt, "resume-session-at", "", "with --resume: continue after this message")
	fs.BoolVarP(&f.Continue, "continue", "c", false, "continue the most recent session in this folder")
	fs.BoolVar(&f.fork, "fork-session", false, "with --resume or --continue: leave that session as it is and continue in a copy")
	fs.StringVarP(&f.name, "name", "n", "", "name of the session")
	fs.StringVar(&f.sessionID, "session-id", "", "the id of the new session, a UUID")
	fs.BoolVar(&f.forget, "no-session-persistence", false, "do not write the session to disk")
	fs.Var((*words)(&f.addDirs), "add-dir", "another folder that tools may work in")
	fs.Var((*words)(&f.plugins), "plugin-dir", "a folder that contains a plugin")
	fs.StringVar(&f.settings, "settings", "", "settings to add: a JSON object, or a file")
	fs.StringVar(&f.sources, "setting-sources", "", "settings to read: user,project,local")
	fs.BoolVar(&f.iKnow, "i-know", false, "let bypassPermissions run as root, as IS_SANDBOX=1 does")
	fs.BoolVar(&f.trustProject, "trust-project", false, "trust what is in the project (hooks, MCP servers, rules, skills) as it is now, for this run")
	fs.BoolVar(&f.ignoreHooks, "ignore-project-hooks", false, "run without the project's hooks")
	fs.BoolVar(&f.ignoreBadRules, "ignore-bad-rules", false, "start even if a deny or ask rule is invalid")
	fs.StringVar(&f.schema, "json-schema", "", "JSON Schema that the answer must match")
	fs.BoolVar(&f.partial, "include-partial-messages", false, "with stream-json: include partial answers as they arrive")
	fs.BoolVar(&f.hookEvents, "include-hook-events", false, "with stream-json: include every hook run")
	fs.BoolVar(&f.replay, "replay-user-messages", false, "with stream-json: echo each prompt when it is read")
	fs.StringVar(&f.promptTool, "permission-prompt-tool", "", "who decides about calls that no rule decides: 'stdio' asks the program on standard input and output, 'mcp__server__tool' asks an MCP tool")
	fs.StringVar(&f.prompts, "permission-prompts", "", "who is asked about calls: host (the program), or none to deny them instead")
	fs.IntVar(&f.maxTurns, "max-turns", 0, "maximum number of model requests per turn")
	fs.Float64Var(&f.maxBudget, "max-budget-usd", 0, "maximum cost of the session, in US dollars")
	fs.DurationVar(&f.maxTime, "max-time", 0, "maximum duration of a turn, such as 10m")
	fs.StringVar(&f.thinking, "thinking", "", "thinking: adaptive, enabled or disabled")
	fs.StringVar(&f.thinkingShow, "thinking-display", "", "how thinking is shown, such as summarized or omitted")
	fs.IntVar(&f.thinkingTokens, "max-thinking-tokens", 0, "maximum number of tokens for thinking")
	fs.StringVar(&f.effort, "effort", "", "how hard the model thinks: low, medium, high, xhigh or max; if the model does not support the level, the next lower one is used")
	fs.StringSliceVar(&f.betas, "betas", nil, "features of the API that are not on by default")
	fs.Var((*words)(&f.servers), "mcp-config", "MCP servers to add: a JSON object, or a file")
	fs.BoolVar(&f.strict, "strict-mcp-config", false, "use only the MCP servers from --mcp-config")
	fs.StringVar(&f.agent, "agent", "", "the main agent, with its prompt, tools and model: see haft agents")
	fs.StringVar(&f.agents, "agents", "", "agents to add: a JSON object with their names as keys, or a file")
	fs.BoolVar(&f.noCommands, "disable-slash-commands", false, "disable skills and slash commands")
	fs.BoolVar(&f.agentTexts, "forward-subagent-text", false, "with stream-json: include what sub-agents say and think")
	fs.BoolVar(&f.restricted, "restricted", false, "no tools that run commands or fetch pages, unless --tools names them; no settings files, unless --setting-sources names them; no bypassPermissions")
	fs.StringVarP(&f.Debug, "debug", "d", "", "print debug messages to standard error; a filter such as api,hooks is accepted but has no effect")
	fs.Lookup("debug").NoOptDefVal = "all"
	fs.StringVar(&f.DebugFile, "debug-file", "", "write the --debug log to this file")
	fs.BoolVar(&f.mirror, "session-mirror", false, "with stream-json: also report what is written to the session's files")
	fs.IntVar(&f.taskBudget, "task-budget", 0, "token budget to tell the model about")
	fs.StringVar(&f.managed, "managed-settings", "", "settings that restrict the session: a JSON object")
	fs.StringVar(&f.dropsTurn, "resume-drops-turn", "", "with --resume-session-at: the prompt of the only turn that may be dropped")
	fs.BoolVar(&f.awaits, "await-initialize", false, "accepted for compatibility; has no effect")
	f.defineForeign(fs)
	for _, hidden := range []string{"debug-file", "session-mirror", "managed-settings", "resume-drops-turn", "await-initialize", "allowed-tools", "disallowed-tools", "allow-dangerously-skip-permissions", "permission-prompts", "debug"} {
		_ = fs.MarkHidden(hidden)
	}
}

// words are the values of a flag that is given several times. The library's own type encodes the default of every such
// flag as CSV, with a buffer of 4 KB for each.
type words []string

func (w *words) Set(word string) error {
	*w = append(*w, word)
	return nil
}

func (w *words) String() string { return strings.Join(*w, " ") }

// Append, Replace and GetSlice make them a [pflag.SliceValue].
func (w *words) Append(word string) error { return w.Set(word) }

func (w *words) Replace(list []string) error {
	*w = list
	return nil
}

func (w *words) GetSlice() []string { return *w }

// Type is what help calls a value.
func (*words) Type() string { return "stringArray" }
