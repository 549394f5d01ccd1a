package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/servers"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/wire"
)

// A program is the one that controls a run: what it provides to the conversation, and how it
// is asked.
type program struct {
	run   *run
	conn  *wire.Conn
	ended chan struct{} // closed when no more messages come
}

func newProgram(r *run, conn *wire.Conn) *program {
	return &program{run: r, conn: conn, ended: make(chan struct{})}
}

// equip adds what the program provides to what the flags say; init is nil if it has sent
// none.
func (p *program) equip(h *harness.Options, t *harness.TalkOptions, init *wire.Initialize) {
	if init == nil {
		init = new(wire.Initialize)
	}
	adopt(&p.run.opts, h, t, init)
	p.run.tell.texts = p.run.tell.texts || init.ForwardSubagentText != nil && *init.ForwardSubagentText
	h.Hooks = slices.Concat(h.Hooks, p.callbacks(init.Hooks))
	p.inProcess(&t.MCP, init)
	h.HookRan = p.hookRan
	switch {
	case p.run.opts.AskHost:
		t.Person = &hostAsker{
			who: "the program", named: t.Here != "", call: p.conn.Call, before: p.run.drive.CatchUp, states: p.run.tell.waits,
			may: func(u wire.PermissionUpdate) error { return mayUpdate(&p.run.opts, u) }, warn: p.run.tell.warn,
		}
		t.Interactive, t.ByProgram = true, t.Here == "" // a front end that has a name has a user
	case p.run.opts.AskTool != "":
		t.Person, t.ByProgram = p.run.toolAsker(), true
	}
}

// adopt adds what the program sends to what the flags say.
func adopt(o *Options, h *harness.Options, t *harness.TalkOptions, init *wire.Initialize) {
	if init.SystemPrompt != nil {
		t.System = []string{customPrompt(init.SystemPrompt)}
	}
	if init.AppendSystemPrompt != "" {
		owners := t.AppendSystem
		if t.AppendSystem = init.AppendSystemPrompt; o.Guest {
			t.AppendSystem = strings.TrimSpace(owners + "\n\n" + init.AppendSystemPrompt)
		}
	}
	if len(init.JSONSchema) > 0 {
		t.Schema = init.JSONSchema
	}
	if o.ManagedLater {
		h.Managed = string(init.ManagedSettings)
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
}

// mayUpdate refuses a guest changes that belong to the terminal.
func mayUpdate(o *Options, u wire.PermissionUpdate) error {
	if what := TerminalOnly(u); o.Guest && what != "" {
		return &wire.ControlError{Message: what + " is only possible in a terminal"}
	}
	return nil
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

// ask asks the program something after it has been sent everything that happened before, so
// that it has seen the call that it decides about.
func (p *program) ask(ctx context.Context, r wire.Request, reply any) error {
	p.run.drive.CatchUp(ctx)
	return p.conn.Call(ctx, r, reply)
}

// inProcess are the MCP servers inside the program.
func (p *program) inProcess(o *servers.Given, init *wire.Initialize) {
	o.Wait = serversTime
	o.Send, o.Believed = p.sendMCP, !p.run.opts.Guest
	if !p.run.opts.Unattended {
		o.Elicit = p.elicit
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

// sendMCP carries a message to a server inside the program.
func (p *program) sendMCP(ctx context.Context, name string, message json.RawMessage) (json.RawMessage, error) {
	// A call comes after what was sent about it. Opening a server does not wait: a turn
	// that has begun waits for the server.
	ask := p.conn.Call
	var about struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(message, &about) == nil && about.Method == "tools/call" {
		ask = p.ask
	}
	var reply wire.MCPMessageReply
	if err := ask(ctx, &wire.MCPMessage{ServerName: name, Message: message}, &reply); err != nil {
		return nil, errors.New(plainError(err))
	}
	return reply.MCPResponse, nil
}

// elicit asks the program for what a server wants to know. A server cannot tell a failed
// question from a fault of its own, so a question without an answer is cancelled.
func (p *program) elicit(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
	var reply wire.ElicitationReply
	request := &wire.Elicitation{MCPServerName: e.Server, Message: e.Message, Mode: e.Mode, URL: e.URL, RequestedSchema: e.Schema}
	if p.run.opts.Talk.Here != "" {
		request.ElicitationID = e.ID // other programs know it as the name of an address to visit
	}
	err := p.ask(ctx, request, &reply)
	if err != nil || reply.Action == "" { // it is gone, or knows no such question
		return mcp.Answer{Action: "cancel"}, nil
	}
	return mcp.Answer{Action: reply.Action, Content: reply.Content, By: reply.By}, nil
}

// callbacks are the program's own hooks.
func (p *program) callbacks(events map[string][]wire.HookMatcher) []hook.Hook {
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
					Func:    func(ctx context.Context, in hook.Input) (hook.Output, error) { return p.callback(ctx, id, limit, in) },
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
func (p *program) callback(ctx context.Context, id string, limit time.Duration, in hook.Input) (out hook.Output, err error) {
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
	err = p.ask(ctx, &wire.HookCallback{CallbackID: id, Input: raw, ToolUseID: wire.NullString(about.UseID)}, &answer)
	if err == nil {
		return hook.ReadAnswer(answer)
	}
	if in.Detail.Event() == "PreToolUse" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// A program that wants to see calls and does not answer has not approved this one.
		return hook.Output{Decision: "block", Reason: "the program did not answer in time, so the call was not made"}, nil
	}
	return out, errors.New(plainError(err))
}

// hookRan reports a hook that ran, and one of the program itself only if it failed or has
// something to say.
func (p *program) hookRan(r hook.Run) {
	tell := p.run.tell
	switch {
	case !r.InCode:
		p.run.hookRan(r)
	case r.Err != nil && p.hasEnded(): // it cannot be reached any more
	case r.Err != nil:
		tell.send(&wire.Informational{Stamp: tell.stamp(""), Level: "warning", Label: "hook_callback_failed", Content: fmt.Sprintf("%s hook: %v", r.Event, r.Err)})
	case r.Message != "":
		tell.send(&wire.Informational{Stamp: tell.stamp(""), Level: "info", Content: r.Message})
	}
}

// hasEnded reports whether the program has closed its input.
func (p *program) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
