package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/servers"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/wire"
)

// initialize opens the conversation and says what it offers. A program that initializes
// again gets the same answer, and the list of background work.
func (s *server) initialize(r *wire.Initialize) (any, error) {
	again := s.opened() != nil
	s.begin(s.context, r)
	talk := s.opened()
	if talk == nil {
		return nil, errors.New("could not open the conversation; the result message says why")
	}
	if again {
		s.tell.send(s.tell.backgroundTasks())
	}
	reply := wire.InitializeReply{
		Commands: s.commands(talk), Agents: s.agents(talk), OutputStyle: talk.Style, AvailableOutputStyles: styles(talk),
		Models: models(), Account: account(talk.Provider, talk.KeySource),
		PID: os.Getpid(), ClaudeCodeVersion: s.opts.Version, CurrentPermissionMode: string(talk.World.Engine.Policy().Mode()),
		SessionState: s.tell.doing(), HookOnFailureSupported: true, FastModeState: "off", Capabilities: capabilities(),
	}
	if r.Hooks != nil {
		first := !again
		reply.HooksApplied = &first
	}
	if r.Plugins != nil {
		all := hasPlugins(talk, r.Plugins)
		reply.PluginsApplied = &all
	}
	return reply, nil
}

// account says who pays, in the words of the official SDK. It has none for a provider other
// than Anthropic.
func account(provider, key string) wire.Account {
	a := wire.Account{APIKeySource: key, TokenSource: "none"}
	if key == "ANTHROPIC_AUTH_TOKEN" {
		a.APIKeySource, a.TokenSource = "none", key
	}
	switch provider {
	case "anthropic":
		a.APIProvider = "firstParty"
	case "bedrock", "vertex", "foundry":
		a.APIProvider = provider
	}
	return a
}

// doing is what the session does.
func (t *teller) doing() string {
	if now := t.now.Load(); now != nil {
		return *now
	}
	return wire.StateIdle
}

// hasPlugins reports whether all of these plugins are loaded.
func hasPlugins(talk *harness.Conversation, want []wire.PluginConfig) bool {
	for _, w := range want {
		if !slices.ContainsFunc(talk.World.Project.Library.Plugins, func(p plugin.Plugin) bool { return p.Dir == filepath.Clean(w.Path) }) {
			return false
		}
	}
	return true
}

// open assembles the conversation that flags and initialize describe.
func (s *server) open(ctx context.Context, init *wire.Initialize) (*harness.Conversation, error) {
	h, t := s.opts.Harness, s.opts.Talk
	if init == nil {
		init = new(wire.Initialize)
	}
	s.adopt(&h, &t, init)
	if s.opts.OneAnswer {
		h.EndAtLimit, t.MCP.Background = true, -1
	}
	t.Woken = s.wake
	h.Prompted = t.Resume == "" && !t.Continue && len(s.waiting) > 0 && !strings.HasPrefix(text(s.waiting[0].Prompt), "/")
	w, err := harness.Open(&h)
	if err != nil {
		return nil, err
	}
	if err := s.guestLead(w, init); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	talk, err := w.Talk(ctx, &t)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return talk, nil
}

// adopt adds what the program provides to what the flags say.
func (s *server) adopt(h *harness.Options, t *harness.TalkOptions, init *wire.Initialize) {
	h.Hooks = slices.Concat(h.Hooks, s.callbacks(init.Hooks))
	if init.SystemPrompt != nil {
		t.System = []string{customPrompt(init.SystemPrompt)}
	}
	if init.AppendSystemPrompt != "" {
		owners := t.AppendSystem
		if t.AppendSystem = init.AppendSystemPrompt; s.opts.Guest {
			t.AppendSystem = strings.TrimSpace(owners + "\n\n" + init.AppendSystemPrompt)
		}
	}
	if len(init.JSONSchema) > 0 {
		t.Schema = init.JSONSchema
	}
	if init.Title != "" {
		t.Title = init.Title
	}
	t.PlanInstructions = init.PlanModeInstructions
	h.Redirect = init.ToolAliases
	if h.Skills == nil {
		h.Skills = init.Skills
	} else if init.Skills != nil { // the flags have chosen, and only fewer can be left
		h.Skills = slices.DeleteFunc(slices.Clone(h.Skills), func(name string) bool { return !slices.Contains(init.Skills, name) })
	}
	for _, p := range init.Plugins {
		h.Plugins = append(slices.Clip(h.Plugins), p.Path)
		if p.SkipMCPDiscovery {
			h.NoServersOf = append(slices.Clip(h.NoServersOf), p.Path)
		}
	}
	h.Agents = slices.Concat(h.Agents, Definitions(init.Agents))
	s.tell.texts = s.opts.AgentTexts || init.ForwardSubagentText != nil && *init.ForwardSubagentText
	s.inProcess(&t.MCP, init)
	h.HookRan = s.hookRan
	asker := &hostAsker{who: "the program", named: t.Here != "", call: s.conn.Call, before: s.catchUp, states: s.waits, may: s.mayUpdate, warn: s.warn}
	switch {
	case s.opts.AskHost:
		t.Person, t.Interactive, t.ByProgram = asker, true, t.Here == "" // a front end that has a name has a user
	case s.opts.AskTool != "":
		asker.who, asker.call = "the tool "+s.opts.AskTool, s.askTool(s.opts.AskTool)
		t.Person, t.ByProgram = asker, true
	}
}

// mayUpdate refuses a guest changes that belong to the terminal.
func (s *server) mayUpdate(u wire.PermissionUpdate) error {
	if what := TerminalOnly(u); s.opts.Guest && what != "" {
		return &wire.ControlError{Message: what + " is only possible in a terminal"}
	}
	return nil
}

// hookRan reports a hook that ran. What a user should know about hooks in the settings is a
// notice of the conversation.
func (s *server) hookRan(r hook.Run) {
	switch {
	case r.InCode:
		s.callbackRan(r)
	case s.opts.HookEvents || r.Event == "SessionStart":
		started, ended := s.tell.hookEvents(r)
		s.tell.send(started)
		s.tell.send(ended)
	}
}

// inProcess are the MCP servers inside the program.
func (s *server) inProcess(o *servers.Given, init *wire.Initialize) {
	o.Wait = serversTime
	o.Send, o.Believed = s.sendMCP, !s.opts.Guest
	if !s.opts.Unattended {
		o.Elicit = s.elicit
	}
	for _, name := range init.SDKMCPServers {
		if o.InProcess == nil {
			o.InProcess = make(map[string]*mcp.Manifest)
		}
		o.InProcess[name] = nil
		if m, ok := init.SDKMCPServerManifests[name]; ok {
			o.InProcess[name] = &mcp.Manifest{Initialize: m.InitializeResult, Tools: m.ToolsListResult}
		}
	}
}

// customPrompt joins the parts of a prompt. The mark between what all sessions share and
// what is specific to this one is left out.
func customPrompt(parts []string) string {
	kept := slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__" })
	return strings.Join(kept, "\n\n")
}

// Definitions are the agents that a program or the command line provides.
func Definitions(agents map[string]wire.Agent) []agentdef.Definition {
	var list []agentdef.Definition
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		a := agents[name]
		var effort string
		_ = json.Unmarshal(a.Effort, &effort) // a number means nothing to a provider
		list = append(list, agentdef.Definition{
			Name: name, Description: a.Description, Prompt: a.Prompt, Tools: a.Tools, Denied: a.DisallowedTools, Model: a.Model,
			Effort: effort, Mode: a.PermissionMode, MaxTurns: a.MaxTurns, Skills: a.Skills, Background: a.Background != nil && *a.Background, Hooks: a.Hooks,
		})
	}
	return list
}

// callbacks are the program's own hooks.
func (s *server) callbacks(events map[string][]wire.HookMatcher) []hook.Hook {
	var hooks []hook.Hook
	for event, matchers := range events {
		for _, m := range matchers {
			limit := time.Duration(m.Timeout * float64(time.Second))
			if limit <= 0 {
				limit = callbackTime
			}
			for _, id := range m.HookCallbackIDs {
				hooks = append(hooks, hook.Hook{
					Event: hook.Event(event), Matcher: m.Matcher, Name: "callback " + id, Block: m.OnFailure == "block",
					Timeout: limit + time.Second, // the callback itself says what its end means
					Func:    func(ctx context.Context, in hook.Input) (hook.Output, error) { return s.callback(ctx, id, limit, in) },
				})
			}
		}
	}
	slices.SortStableFunc(hooks, func(a, b hook.Hook) int { return compareNatural(a.Name, b.Name) })
	return hooks
}

// callbackTime is how long a callback may take if it does not say.
const callbackTime = time.Minute

// compareNatural sorts callback hook_2 before callback hook_10: in the order in which the
// program numbered them.
func compareNatural(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	} else if a > b {
		return 1
	}
	return 0
}

// callback calls a function of the program.
func (s *server) callback(ctx context.Context, id string, limit time.Duration, in hook.Input) (out hook.Output, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	raw, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	var about struct {
		UseID string `json:"tool_use_id"`
	}
	_ = json.Unmarshal(raw, &about) // events without a call have none
	var answer json.RawMessage
	err = s.ask(ctx, &wire.HookCallback{CallbackID: id, Input: raw, ToolUseID: wire.NullString(about.UseID)}, &answer)
	if err == nil {
		return hook.ReadAnswer(answer)
	}
	if in.Detail.Event() == "PreToolUse" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// A program that wants to see calls and does not answer has not approved this one.
		return hook.Output{Decision: "block", Reason: "the program did not answer in time, so the call was not made"}, nil
	}
	return out, errors.New(plainError(err))
}

func (s *server) warn(text string) {
	s.tell.send(&wire.Informational{Stamp: s.tell.stamp(""), Level: "warning", Content: text})
}

// waits reports whether the session waits for the program.
func (s *server) waits(waiting bool) {
	n := int32(-1)
	if waiting {
		n = 1
	}
	if s.questions.Add(n) > 0 {
		s.tell.state(wire.StateRequiresAction)
	} else {
		s.tell.state(wire.StateRunning)
	}
}
