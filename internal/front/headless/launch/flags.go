package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
	"github.com/haftdev/haft/wire"
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
	toolProgress   bool
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
	safe           bool
	quietPlugins   []string
	managedLater   bool
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
		fs.Var((*words)(&f.disallowed), name, "rules for calls to deny")
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
	fs.Var((*words)(&f.quietPlugins), "plugin-dir-no-mcp", "the same, without its MCP servers")
	fs.StringVar(&f.settings, "settings", "", "settings to add: a JSON object, or a file")
	fs.StringVar(&f.sources, "setting-sources", "", "settings to read: user,project,local")
	fs.BoolVar(&f.iKnow, "i-know", false, "let bypassPermissions run as root, as IS_SANDBOX=1 does")
	fs.BoolVar(&f.trustProject, "trust-project", false, "trust what is in the project (hooks, MCP servers, rules, skills) as it is now, for this run")
	fs.BoolVar(&f.ignoreHooks, "ignore-project-hooks", false, "run without the project's hooks")
	fs.BoolVar(&f.ignoreBadRules, "ignore-bad-rules", false, "start even if a deny or ask rule is invalid")
	fs.StringVar(&f.schema, "json-schema", "", "JSON Schema that the answer must match")
	fs.BoolVar(&f.partial, "include-partial-messages", false, "with stream-json: include partial answers as they arrive")
	fs.BoolVar(&f.toolProgress, "include-tool-progress", false, "with stream-json: include the states of calls and the progress of tools")
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
	fs.BoolVar(&f.safe, "safe-mode", false, "start without instructions, skills, commands, agents, output styles, plugins, MCP servers, language servers and hooks, except an administrator's; permissions stay as they are")
	fs.StringVarP(&f.Debug, "debug", "d", "", "print debug messages to standard error; a filter such as api,hooks is accepted but has no effect")
	fs.Lookup("debug").NoOptDefVal = "all"
	fs.StringVar(&f.DebugFile, "debug-file", "", "write the --debug log to this file")
	fs.BoolVar(&f.mirror, "session-mirror", false, "with stream-json: also report what is written to the session's files")
	fs.IntVar(&f.taskBudget, "task-budget", 0, "token budget to tell the model about")
	fs.StringVar(&f.managed, "managed-settings", "", "settings that restrict the session: a JSON object")
	fs.BoolVar(&f.managedLater, "managed-settings-in-initialize", false, "take --managed-settings from the first request")
	fs.StringVar(&f.dropsTurn, "resume-drops-turn", "", "with --resume-session-at: the prompt of the only turn that may be dropped")
	fs.BoolVar(&f.awaits, "await-initialize", false, "has no effect: haft always waits for it")
	f.defineForeign(fs)
	for _, hidden := range []string{"debug-file", "session-mirror", "managed-settings", "managed-settings-in-initialize", "resume-drops-turn", "await-initialize", "allowed-tools", "disallowed-tools", "allow-dangerously-skip-permissions", "permission-prompts", "debug"} {
		_ = fs.MarkHidden(hidden)
	}
}

// Check finds mistakes in what the flags say that would show only once a session is
// being opened, where something else that is missing, such as a key, may hide them.
func (f *Flags) Check() error {
	if _, err := permission.ParseMode(f.mode); err != nil {
		return fmt.Errorf("--permission-mode: %w", err)
	}
	if err := f.checkPromptTool(); err != nil {
		return err
	}
	if f.sessionID != "" && !uuid.MatchString(f.sessionID) {
		return fmt.Errorf("--session-id: %q is not a UUID, such as %s", f.sessionID, session.NewUUID())
	}
	for _, rule := range append(SplitRules(f.allowed), SplitRules(f.disallowed)...) {
		if err := (&permission.Rule{Text: rule, Behavior: tool.Deny}).Check(); err != nil {
			return fmt.Errorf("the rule %q from the command line is invalid: %w", rule, err)
		}
	}
	if err := checkSchema(f.schema); err != nil {
		return fmt.Errorf("--json-schema: %w", err)
	}
	for _, dir := range f.addDirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("--add-dir: %s is not a folder", dir)
		}
	}
	if err := checkSettings(f.settings); err != nil {
		return err
	}
	return f.checkResume()
}

// checkPromptTool looks for someone to ask: without stream-json as input, no program
// at the other end can answer.
func (f *Flags) checkPromptTool() error {
	_, name, ok := strings.Cut(strings.TrimPrefix(f.promptTool, "mcp__"), "__")
	switch {
	case f.promptTool == "" || f.prompts == "none":
		return nil
	case f.promptTool == "stdio":
		return errors.New("--permission-prompt-tool stdio needs --input-format stream-json, so that the program can answer")
	case !strings.HasPrefix(f.promptTool, "mcp__") || !ok || name == "":
		return fmt.Errorf("--permission-prompt-tool %q: use stdio, or an MCP tool such as mcp__server__tool", f.promptTool)
	}
	return nil
}

var uuid = lazyregexp.New(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// checkSettings looks at a value of --settings.
func checkSettings(value string) error {
	text := []byte(value)
	switch {
	case value == "":
		return nil
	case !strings.HasPrefix(strings.TrimSpace(value), "{"):
		raw, err := os.ReadFile(value)
		if err != nil {
			return fmt.Errorf("--settings: %w", err)
		}
		text = raw
	}
	if _, err := settings.Parse(settings.Flag, "", text); err != nil {
		return fmt.Errorf("--settings: %w", err)
	}
	return nil
}

// checkSchema looks at a value of --json-schema.
func checkSchema(text string) error {
	if text == "" {
		return nil
	}
	s, err := schema.Parse(json.RawMessage(text))
	if err != nil {
		return err
	}
	return s.Err()
}

// checkResume looks for the session to continue with.
func (f *Flags) checkResume() error {
	if f.Resume == "" {
		return nil
	}
	_, err := session.Open("").Find(f.Resume)
	if errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("%w. Run 'haft sessions list --all' to see the sessions", err)
	}
	return err
}

// defineForeign takes the flags that mean nothing here.
func (f *Flags) defineForeign(fs *pflag.FlagSet) {
	for _, x := range foreign {
		usage := "has no effect: " + x.why
		switch x.value {
		case none:
			fs.BoolP(x.name, x.short, false, usage)
		case list:
			fs.VarP(new(words), x.name, x.short, usage)
		default:
			fs.StringP(x.name, x.short, "", usage)
		}
		if x.value == optional {
			fs.Lookup(x.name).NoOptDefVal = "true"
		}
		_ = fs.MarkHidden(x.name)
	}
}

// Options are what the flags say, in the terms of the packages below. An error is a
// mistake of whoever wrote the flags.
func (f *Flags) Options(fs *pflag.FlagSet, version string) (*headless.Options, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.Input != "stream-json" {
		if err := f.checkTyped(fs); err != nil {
			return nil, err
		}
	}
	o := &headless.Options{
		Partial: f.partial, HookEvents: f.hookEvents, ToolProgress: f.toolProgress, Replay: f.replay, AskHost: f.promptTool == "stdio" && f.prompts != "none",
		// The SDK sets the first, the adapter for editors the second.
		States:  os.Getenv("CLAUDE_CODE_SDK_READS_SESSION_STATE") != "" || os.Getenv("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") != "",
		Version: version,
	}
	if f.mode == "manual" {
		f.mode = "default"
	}
	o.AgentTexts, o.NoCommands, o.ManagedLater = f.agentTexts, f.noCommands, f.managedLater
	o.Harness = harness.Options{
		Settings: f.settings, AddDirs: f.addDirs, Plugins: slices.Concat(f.plugins, f.quietPlugins), NoServersOf: f.quietPlugins, Mode: f.mode, Allowed: SplitRules(f.allowed), Disallowed: SplitRules(f.disallowed),
		Bare: f.bare, Agent: f.agent, Managed: f.managed, Typed: f.Input != "stream-json",
	}
	if f.bypass {
		o.Harness.Mode = "bypassPermissions"
	}
	o.Harness.Preview = project.PreviewMode(f.preview)
	o.Harness.MayBypass, o.Harness.AsRoot = f.mayBypass, f.iKnow
	o.Harness.TrustProject, o.Harness.IgnoreProjectHooks = f.trustProject, f.ignoreHooks
	o.Harness.IgnoreBadRules = f.ignoreBadRules
	o.Mirror = f.mirror
	if strings.HasPrefix(f.promptTool, "mcp__") && f.prompts != "none" {
		o.AskTool = f.promptTool
	}
	if fs.Changed("tools") && strings.Join(f.tools, "") != "default" {
		o.Harness.Tools = append([]string{}, SplitRules(f.tools)...)
	}
	if fs.Changed("setting-sources") {
		var err error
		if o.Harness.Sources, err = parseSources(f.sources); err != nil {
			return nil, err
		}
		// A program that names the project's settings has decided to have what users
		// have written there for models, and the hooks that guard the project.
		o.Harness.Vouched = f.Input == "stream-json" && slices.Contains(o.Harness.Sources, settings.Project)
	}
	if err := f.restrict(fs, &o.Harness); err != nil {
		return nil, err
	}
	if err := f.leaveOut(&o.Harness); err != nil {
		return nil, err
	}
	if fs.Changed("tools-on") {
		for _, here := range []string{"add-dir", "mcp-config"} {
			if fs.Changed(here) {
				return nil, fmt.Errorf("--tools-on and --%s cannot be used together: --%[1]s is about this machine", here)
			}
		}
		var err error
		if o.Harness.ToolHost, err = toolhost.Parse(f.toolsOn); err != nil {
			return nil, fmt.Errorf("--tools-on: %w", err)
		}
	}
	if f.noCommands {
		o.Harness.Skills = []string{}
	}
	if err := f.readFiles(fs, &o.Harness); err != nil {
		return nil, err
	}
	o.Talk = harness.TalkOptions{
		Title: f.name, Model: f.model, Fallback: f.fallback, AppendSystem: f.appendSystem,
		Limits:   agent.Limits{Turns: f.maxTurns, BudgetUSD: f.maxBudget, Time: f.maxTime},
		Thinking: f.thinkingOptions(), Effort: f.effort, TaskBudget: f.taskBudget, Betas: f.betas,
		Resume: f.Resume, ResumeAt: f.ResumeAt, Drops: f.dropsTurn, Continue: f.Continue, Fork: f.fork, ID: f.sessionID, Forget: f.forget, Version: version,
	}
	o.Talk.ByProgram = f.Input == "stream-json"
	o.Talk.MCP.Strict = f.strict
	for _, text := range f.servers {
		entries, err := serverEntries(text)
		if err != nil {
			return nil, err
		}
		o.Talk.MCP.Entries = append(o.Talk.MCP.Entries, entries...)
	}
	if fs.Changed("system-prompt") || fs.Changed("system-prompt-file") {
		o.Talk.System = []string{f.system}
	}
	if f.schema != "" {
		o.Talk.Schema = json.RawMessage(f.schema)
	}
	return o, nil
}

// readFiles reads what flags say by naming a file.
func (f *Flags) readFiles(fs *pflag.FlagSet, h *harness.Options) error {
	for _, x := range []struct {
		flag, file string
		other      string
		text       *string
	}{
		{"--system-prompt-file", f.systemFile, "system-prompt", &f.system},
		{"--append-system-prompt-file", f.appendFile, "append-system-prompt", &f.appendSystem},
	} {
		if x.file == "" {
			continue
		}
		if fs.Changed(x.other) {
			return fmt.Errorf("%s and --%s cannot be used together", x.flag, x.other)
		}
		raw, err := os.ReadFile(x.file)
		if err != nil {
			return fmt.Errorf("%s: %w", x.flag, err)
		}
		*x.text = string(raw)
	}
	if f.agents == "" {
		return nil
	}
	raw := []byte(f.agents)
	if !isObject(f.agents) {
		var err error
		if raw, err = os.ReadFile(f.agents); err != nil {
			return fmt.Errorf("--agents: %w", err)
		}
	}
	var agents map[string]wire.Agent
	if err := json.Unmarshal(raw, &agents); err != nil {
		return fmt.Errorf("--agents: %w; give an object such as {\"reviewer\": {\"description\": \"…\", \"prompt\": \"…\"}}", err)
	}
	for name, a := range agents {
		if a.Description == "" || a.Prompt == "" {
			return fmt.Errorf("--agents: %s needs a description and a prompt", name)
		}
	}
	h.Agents = headless.Definitions(agents)
	return nil
}

// codeTools run commands or code, or fetch pages.
var codeTools = []string{"Bash", "REPL", "Monitor", "WebFetch"}

// restrict applies --restricted.
func (f *Flags) restrict(fs *pflag.FlagSet, h *harness.Options) error {
	if !f.restricted {
		return nil
	}
	if f.bypass || f.mayBypass || f.mode == "bypassPermissions" {
		return errors.New("--restricted and bypassPermissions cannot be used together")
	}
	for _, name := range codeTools {
		if !slices.Contains(h.Tools, name) {
			h.Disallowed = append(slices.Clip(h.Disallowed), name)
		}
	}
	if !fs.Changed("setting-sources") {
		h.Sources = []settings.Source{}
	}
	return nil
}

// leaveOut applies --safe-mode: something that the user has set up does not work, and they look
// for what it is. Rules still hold.
func (f *Flags) leaveOut(h *harness.Options) error {
	if v := os.Getenv("CLAUDE_CODE_SAFE_MODE"); !f.safe && (v == "" || v == "0") {
		return nil
	}
	if f.settings != "" {
		return errors.New("--safe-mode and --settings cannot be used together")
	}
	h.Safe, h.IgnoreProjectHooks, h.Plugins = true, true, nil
	h.Settings = `{"disableAllHooks": true, "outputStyle": "default"}`
	f.strict = true
	return nil
}

// serverEntries reads a value of --mcp-config.
func serverEntries(text string) ([]config.Entry, error) {
	data, origin := []byte(text), "the command line"
	if !isObject(text) {
		raw, err := os.ReadFile(text)
		if err != nil {
			return nil, fmt.Errorf("--mcp-config: %w", err)
		}
		data, origin = raw, text
	}
	entries, err := config.File(data, "dynamic", origin)
	if err != nil {
		return nil, fmt.Errorf("--mcp-config: %w", err)
	}
	return entries, nil
}

// check finds what is wrong with the flags alone.
func (f *Flags) check() error {
	for _, e := range []struct {
		flag, value string
		of          []string
	}{
		{"--output-format", f.Output, []string{"text", "json", "stream-json"}},
		{"--input-format", f.Input, []string{"text", "stream-json"}},
		{"--preview", f.preview, []string{"", "off", "ask", "auto"}},
		{"--thinking", f.thinking, []string{"", "adaptive", "enabled", "disabled"}},
	} {
		if err := oneOf(e.flag, e.value, e.of); err != nil {
			return err
		}
	}
	if f.Input == "stream-json" && f.Output != "stream-json" {
		return errors.New("--input-format stream-json needs --output-format stream-json")
	}
	if f.schema != "" && !json.Valid([]byte(f.schema)) {
		return errors.New("--json-schema: the schema is not valid JSON")
	}
	if f.maxTurns < 0 || f.maxBudget < 0 || f.maxTime < 0 || f.taskBudget < 0 {
		return errors.New("--max-turns, --max-budget-usd, --max-time and --task-budget must not be negative")
	}
	return nil
}

// checkTyped finds what a user has typed and would have no effect. Programs may
// know values that this haft does not, and say more than they need to.
func (f *Flags) checkTyped(fs *pflag.FlagSet) error {
	if err := oneOf("--effort", f.effort, []string{"", "minimal", "low", "medium", "high", "xhigh", "max"}); err != nil {
		return err
	}
	resumes := f.Continue || fs.Changed("resume")
	switch {
	case f.ResumeAt != "" && !resumes:
		return errors.New("--resume-session-at needs --resume with the id of the session that contains the message")
	case f.fork && !resumes:
		return errors.New("--fork-session needs --resume or --continue: there is no session to fork")
	}
	return nil
}

func oneOf(flag, value string, of []string) error {
	for _, v := range of {
		if v == value {
			return nil
		}
	}
	return fmt.Errorf("%s %q: use one of %s", flag, value, strings.TrimSpace(strings.Join(of, " ")))
}

func parseSources(list string) ([]settings.Source, error) {
	sources := []settings.Source{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		s, err := settings.ParseSource(name)
		if err != nil || s != settings.User && s != settings.Project && s != settings.Local {
			return nil, fmt.Errorf("--setting-sources: %q is not a source: use user, project and local, separated by commas", name)
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func (f *Flags) thinkingOptions() *model.ThinkingOptions {
	if f.thinking == "" && f.thinkingTokens == 0 && f.thinkingShow == "" {
		return nil
	}
	t := &model.ThinkingOptions{Mode: f.thinking, Budget: f.thinkingTokens, Display: f.thinkingShow}
	if t.Mode == "" {
		t.Mode = "adaptive"
		if f.thinkingTokens > 0 {
			t.Mode = "enabled"
		}
	}
	return t
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
