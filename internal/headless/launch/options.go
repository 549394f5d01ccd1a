package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/internal/mcp/toolhost"
	"github.com/haftdev/haft/mcp/config"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/wire"
)

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
		Partial: f.partial, HookEvents: f.hookEvents, Replay: f.replay, AskHost: f.promptTool == "stdio" && f.prompts != "none",
		States: os.Getenv("CLAUDE_CODE_SDK_READS_SESSION_STATE") != "", Version: version,
	}
	if f.mode == "manual" {
		f.mode = "default"
	}
	o.AgentTexts, o.NoCommands = f.agentTexts, f.noCommands
	o.Harness = harness.Options{
		Settings: f.settings, AddDirs: f.addDirs, Plugins: f.plugins, Mode: f.mode, Allowed: SplitRules(f.allowed), Disallowed: SplitRules(f.disallowed),
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

// isObject reports whether the value of a flag is a JSON object; otherwise it names a file.
func isObject(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "{") }

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
