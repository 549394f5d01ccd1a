package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/harness"
	"github.com/haftdev/haft/headless"
	"github.com/haftdev/haft/mcp/config"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/shellrun"
)

// converseFlags are those of a conversation. The names are Claude Code's, so that
// scripts and SDKs written for it work.
type converseFlags struct {
	Streams
	reexec shellrun.Reexec

	print          bool
	output, input  string
	verbose        bool
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
	resume         string
	resumeAt       string
	goOn           bool
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
	debug          bool
	plain          bool
	servers        []string
	strict         bool
	agent          string
}

func (f *converseFlags) define(fs *pflag.FlagSet) {
	fs.BoolVarP(&f.print, "print", "p", false, "answer the prompt and end, without a screen")
	fs.StringVar(&f.output, "output-format", "text", "with -p: text, json (one result) or stream-json (every event)")
	fs.StringVar(&f.input, "input-format", "text", "text, or stream-json: messages on standard input")
	fs.BoolVar(&f.plain, "plain", false, "talk line by line, without a screen: for screen readers and simple terminals")
	fs.BoolVar(&f.verbose, "verbose", false, "with text output: show calls and progress on standard error")
	fs.StringVar(&f.model, "model", "", "the model: an alias such as sonnet, or its full name")
	fs.StringVar(&f.fallback, "fallback-model", "", "the model to go on with when the first is overloaded")
	fs.StringVar(&f.mode, "permission-mode", "", "default, acceptEdits, plan, auto, dontAsk or bypassPermissions")
	fs.BoolVar(&f.bypass, "dangerously-skip-permissions", false, "the mode bypassPermissions: deny rules still hold")
	fs.BoolVar(&f.mayBypass, "allow-dangerously-skip-permissions", false, "let the session change to the mode bypassPermissions")
	for _, name := range []string{"allowedTools", "allowed-tools"} {
		fs.StringArrayVar(&f.allowed, name, nil, "rules for calls that need no approval, such as 'Bash(go test:*)'")
	}
	for _, name := range []string{"disallowedTools", "disallowed-tools"} {
		fs.StringArrayVar(&f.disallowed, name, nil, "rules for calls that are denied")
	}
	fs.StringArrayVar(&f.tools, "tools", nil, "the only tools there are; default for all, '' for none")
	fs.BoolVar(&f.bare, "bare", false, "only the tools Bash, Read and Edit")
	fs.StringVar(&f.system, "system-prompt", "", "replace the system prompt")
	fs.StringVar(&f.appendSystem, "append-system-prompt", "", "add to the system prompt")
	fs.StringVarP(&f.resume, "resume", "r", "", "go on with the session of this id")
	fs.StringVar(&f.resumeAt, "resume-session-at", "", "with --resume: go on after this message")
	fs.BoolVarP(&f.goOn, "continue", "c", false, "go on with the newest session of this folder")
	fs.BoolVar(&f.fork, "fork-session", false, "with --resume or --continue: leave that session as it is, go on in a new one")
	fs.StringVar(&f.sessionID, "session-id", "", "the id of the new session, a UUID")
	fs.BoolVar(&f.forget, "no-session-persistence", false, "do not write the session to the disk")
	fs.StringArrayVar(&f.addDirs, "add-dir", nil, "a folder besides the project that tools may work in")
	fs.StringArrayVar(&f.plugins, "plugin-dir", nil, "a folder that is a plugin")
	fs.StringVar(&f.settings, "settings", "", "settings to add: a JSON object, or a file")
	fs.StringVar(&f.sources, "setting-sources", "", "the settings to read: user,project,local")
	fs.StringVar(&f.schema, "json-schema", "", "the JSON Schema that the answer must have")
	fs.BoolVar(&f.partial, "include-partial-messages", false, "with stream-json: the pieces of answers as they arrive")
	fs.BoolVar(&f.hookEvents, "include-hook-events", false, "with stream-json: every run of a hook")
	fs.BoolVar(&f.replay, "replay-user-messages", false, "with stream-json: repeat prompts when they are taken up")
	fs.StringVar(&f.promptTool, "permission-prompt-tool", "", "who decides what the rules leave open: stdio asks the program at the other end")
	fs.StringVar(&f.prompts, "permission-prompts", "", "host, or none to deny what would be asked")
	fs.IntVar(&f.maxTurns, "max-turns", 0, "how many times the model may be asked")
	fs.Float64Var(&f.maxBudget, "max-budget-usd", 0, "what the session may cost")
	fs.DurationVar(&f.maxTime, "max-time", 0, "how long a turn may take, such as 10m")
	fs.StringVar(&f.thinking, "thinking", "", "adaptive, enabled or disabled")
	fs.StringVar(&f.thinkingShow, "thinking-display", "", "how thoughts are shown: summarized, omitted…")
	fs.IntVar(&f.thinkingTokens, "max-thinking-tokens", 0, "how many tokens thinking may take")
	fs.StringVar(&f.effort, "effort", "", "low, medium, high…")
	fs.StringSliceVar(&f.betas, "betas", nil, "features of the API that are not on by default")
	fs.StringArrayVar(&f.servers, "mcp-config", nil, "MCP servers to add: a JSON object, or a file")
	fs.BoolVar(&f.strict, "strict-mcp-config", false, "only the MCP servers of --mcp-config")
	fs.StringVar(&f.agent, "agent", "", "with stream-json: the agent that leads the conversation")
	fs.BoolVar(&f.debug, "debug", false, "say more on standard error")
	for _, hidden := range []string{"allowed-tools", "disallowed-tools", "allow-dangerously-skip-permissions", "permission-prompts", "debug"} {
		_ = fs.MarkHidden(hidden)
	}
}

// converse is haft without a command: a conversation.
func (f *converseFlags) run(c *cobra.Command, args []string) error {
	opts, err := f.options(c.Flags())
	if err != nil {
		return err
	}
	if f.input == "stream-json" {
		return f.serve(c.Context(), opts)
	}
	prompt, err := f.prompt(c.Context(), args)
	if err != nil {
		return err
	}
	return f.answer(c.Context(), opts, prompt)
}

// options are what the flags say, in the terms of the packages below.
func (f *converseFlags) options(fs *pflag.FlagSet) (*headless.Options, error) {
	if err := f.check(); err != nil {
		return nil, usageError{err}
	}
	o := &headless.Options{
		Partial: f.partial, HookEvents: f.hookEvents, Replay: f.replay, AskHost: f.promptTool == "stdio" && f.prompts != "none",
		States: os.Getenv("CLAUDE_CODE_SDK_READS_SESSION_STATE") != "", Log: f.Err, Version: version(),
	}
	o.Harness = harness.Options{
		Settings: f.settings, AddDirs: f.addDirs, Plugins: f.plugins, Mode: f.mode, Allowed: splitRules(f.allowed), Disallowed: splitRules(f.disallowed),
		Bare: f.bare, Reexec: f.reexec,
	}
	if f.bypass {
		o.Harness.Mode = "bypassPermissions"
	}
	o.MayBypass = f.mayBypass || o.Harness.Mode == "bypassPermissions"
	o.Agent = f.agent
	if strings.HasPrefix(f.promptTool, "mcp__") && f.prompts != "none" {
		o.AskTool = f.promptTool
	}
	if fs.Changed("tools") && strings.Join(f.tools, "") != "default" {
		o.Harness.Tools = append([]string{}, splitRules(f.tools)...)
	}
	if fs.Changed("setting-sources") {
		var err error
		if o.Harness.Sources, err = parseSources(f.sources); err != nil {
			return nil, usageError{err}
		}
		// A program that names the project's settings has decided to have what people
		// have written there for models.
		o.Harness.Vouched = f.input == "stream-json" && slices.Contains(o.Harness.Sources, settings.Project)
	}
	o.Talk = harness.TalkOptions{
		Model: f.model, Fallback: f.fallback, AppendSystem: f.appendSystem,
		Limits:   agent.Limits{Turns: f.maxTurns, BudgetUSD: f.maxBudget, Time: f.maxTime},
		Thinking: f.thinkingOptions(), Effort: f.effort, Betas: f.betas,
		Resume: f.resume, ResumeAt: f.resumeAt, Continue: f.goOn, Fork: f.fork, ID: f.sessionID, Forget: f.forget, Version: version(),
	}
	o.Talk.MCP.Strict = f.strict
	for _, text := range f.servers {
		entries, err := serverEntries(text)
		if err != nil {
			return nil, usageError{err}
		}
		o.Talk.MCP.Entries = append(o.Talk.MCP.Entries, entries...)
	}
	if fs.Changed("system-prompt") {
		o.Talk.System = []string{f.system}
	}
	if f.schema != "" {
		o.Talk.Schema = json.RawMessage(f.schema)
	}
	return o, nil
}

// serverEntries reads a value of --mcp-config.
func serverEntries(text string) ([]config.Entry, error) {
	data, origin := []byte(text), "the command line"
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
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
func (f *converseFlags) check() error {
	for _, e := range []struct {
		flag, value string
		of          []string
	}{
		{"--output-format", f.output, []string{"text", "json", "stream-json"}},
		{"--input-format", f.input, []string{"text", "stream-json"}},
		{"--thinking", f.thinking, []string{"", "adaptive", "enabled", "disabled"}},
	} {
		if err := oneOf(e.flag, e.value, e.of); err != nil {
			return err
		}
	}
	if f.input == "stream-json" && f.output != "stream-json" {
		return errors.New("--input-format stream-json needs --output-format stream-json")
	}
	if f.schema != "" && !json.Valid([]byte(f.schema)) {
		return errors.New("--json-schema: that is not JSON")
	}
	if f.maxTurns < 0 || f.maxBudget < 0 || f.maxTime < 0 {
		return errors.New("--max-turns, --max-budget-usd and --max-time cannot be less than 0")
	}
	return nil
}

func oneOf(flag, value string, of []string) error {
	for _, v := range of {
		if v == value {
			return nil
		}
	}
	return fmt.Errorf("%s %q: use one of %s", flag, value, strings.Join(of, " "))
}

func parseSources(list string) ([]settings.Source, error) {
	sources := []settings.Source{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		s, err := settings.ParseSource(name)
		if err != nil {
			return nil, fmt.Errorf("--setting-sources: %w", err)
		}
		sources = append(sources, s)
	}
	return sources, nil
}

func (f *converseFlags) thinkingOptions() *model.ThinkingOptions {
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

// prompt is what the person says: the arguments, and what is piped in.
func (f *converseFlags) prompt(ctx context.Context, args []string) (string, error) {
	prompt := strings.Join(args, " ")
	if piped(f.In) {
		raw, err := readAll(ctx, f.In)
		if err != nil {
			return "", fmt.Errorf("read the prompt from standard input: %w", err)
		}
		if len(raw) > maxInput {
			return "", usageError{errors.New("standard input is too long for a prompt: more than " + strconv.Itoa(maxInput>>20) + " MB")}
		}
		prompt = strings.TrimSpace(prompt + "\n\n" + string(raw))
	}
	if prompt == "" {
		return "", usageError{errors.New(`say what to do: haft -p "…", or pipe it in. See it work without a key: haft demo`)}
	}
	return prompt, nil
}

// piped reports whether something other than a person's keyboard is at in.
func piped(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}
