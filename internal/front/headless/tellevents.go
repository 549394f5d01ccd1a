package headless

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// A teller reports to a program what happens, as messages of the wire. It belongs to the
// goroutine that reads the agent's events; other goroutines send through the same writer,
// which takes one message at a time.
type teller struct {
	send    func(wire.Message)
	session atomic.Pointer[string] // /clear changes it while prompts are taken
	// facts are what the first message of a turn says.
	facts func(agent.TurnStarted) *wire.Init
	// partial also reports the pieces of an answer; states the session's state; replay
	// repeats prompts.
	partial, states, replay bool
	// oneAnswer says that the result is all that is read.
	oneAnswer bool

	tools    *tool.Set
	prompts  []string // of the turn, until its first answer names them
	started  []string // those that the turn began with
	message  string   // the provider's name of the answer that arrives
	results  int
	inTurn   bool
	tasks    map[string]agent.Task // in the background
	agents   map[string]agent.Task // sub-agents, by id
	texts    bool                  // also reports the texts of sub-agents in the foreground
	calls    *heartbeats
	reports  *callReports // nil if the program does not want them
	modelFor func(name string) (window, output int64)
	now      atomic.Pointer[string]
	named    sync.Map // uuids that the program chose
	// questions are how many were not answered yet.
	questions atomic.Int32
}

// tell sends what the event means to a program.
func (t *teller) tell(ev agent.Event) {
	switch ev := ev.(type) {
	case agent.TurnStarted:
		t.turnStarted(ev)
	case agent.Requesting:
		if t.partial {
			t.send(&wire.Status{Stamp: t.stamp(""), Status: "requesting"})
		}
	case agent.Streamed:
		if t.partial {
			t.streamed(ev)
		}
	case agent.Said:
		t.said(ev)
	case agent.Called:
		t.called(ev.Event)
	case agent.Waiting:
		t.asked(ev)
	case agent.Answered:
		if t.reports != nil {
			t.reports.answered(ev.CallID)
		}
	case agent.Returned:
		t.returned(ev)
	case agent.Added:
		t.added(ev)
	case agent.Denied:
		t.denied(ev)
	case agent.Retrying:
		t.retrying(ev)
	case agent.FellBack:
		t.send(&wire.ModelFallback{Stamp: t.stamp(""), Trigger: "overloaded", OriginalModel: ev.From, FallbackModel: ev.To,
			Content: "Continuing with " + ev.To + ": " + ev.From + " is overloaded."})
	case agent.Compacting:
		t.send(&wire.Status{Stamp: t.stamp(""), Status: "compacting"})
	case agent.Compacted:
		t.compacted(ev)
	case agent.Changed:
		t.changed(ev)
	case agent.TaskChanged:
		t.task(ev)
	case agent.Notice:
		if ev.Tag == agent.Push {
			t.send(&wire.Notification{Stamp: t.stamp(""), Key: "push", Text: ev.Text})
			return
		}
		t.send(&wire.Informational{Stamp: t.stamp(""), Content: ev.Text, Level: ev.Level, Label: ev.Tag})
	case agent.Result:
		t.result(ev)
	}
}

// returned reports a call's result.
func (t *teller) returned(ev agent.Returned) {
	out := ev.Outcome
	t.calls.end(out.CallID)
	if t.reports != nil {
		t.reports.ended(out.CallID)
	}
	result := model.Block{Type: model.ToolResult, UseID: out.UseID, Content: out.Result.Content, IsError: out.IsError()}
	child := t.agents[out.Agent]
	t.send(&wire.User{
		SubagentType: child.AgentType, TaskDescription: child.Description,
		UUID: ev.UUID, SessionID: t.sessionID(), ParentToolUseID: t.parent(out.Agent), AgentID: out.Agent, Timestamp: timestamp(),
		Message:       wire.UserMessage{Role: "user", Content: wire.Content{Blocks: []wire.Block{listed(out, block(result))}}},
		ToolUseResult: toolUseResult(out), ToolResultMeta: resultMeta(out),
	})
}

// listed turns the result of an MCP tool or of an agent, which may have several blocks,
// into a list even if it is a single text.
func listed(out *sched.Outcome, b wire.Block) wire.Block {
	if out.IsError() || out.Tool != "Agent" && !strings.HasPrefix(out.Tool, "mcp__") {
		return b
	}
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(b.Raw, &members) == nil && json.Unmarshal(members["content"], &text) == nil {
		members["content"] = mustJSON([]wire.Block{wire.Text(text)})
		b.Content = &wire.Content{Blocks: []wire.Block{wire.Text(text)}}
		b.Raw = mustJSON(members)
	}
	return b
}

func (t *teller) denied(ev agent.Denied) {
	out := ev.Outcome
	if byHook(out.Verdict) {
		return // its own words say so
	}
	m := &wire.PermissionDenied{Stamp: t.stamp(""), ToolName: out.Tool, ToolUseID: out.UseID, Message: out.Result.Text(), DecisionReason: out.Verdict.Reason, AgentID: out.Agent}
	if meta := resultMeta(out); meta != nil {
		m.DecisionReasonType = meta[0].PermissionDecision.ReasonType
	}
	t.send(m)
}

// streamed reports a piece of an answer as the provider would have sent it.
func (t *teller) streamed(ev agent.Streamed) {
	if s, ok := ev.Event.(model.Start); ok {
		t.message = s.ID
	}
	for _, e := range apiEvents(ev.Event) {
		m := &wire.StreamEvent{Stamp: t.stamp(""), Event: e, APIMessageID: t.message}
		if _, ok := ev.Event.(model.Start); ok {
			m.TTFTMS = new(int(ev.TTFT.Milliseconds()))
		}
		t.send(m)
	}
}

// called follows the life of a call.
func (t *teller) called(ev sched.Event) {
	switch {
	case ev.Progress != nil:
	case ev.State == sched.Executing:
		t.calls.begin(ev.CallID, ev.UseID, ev.Tool)
	case ev.State == sched.Completed:
		t.calls.end(ev.CallID)
	}
	switch {
	case t.reports == nil:
	case ev.Progress != nil:
		t.reports.advanced(ev, t.parent(ev.Agent))
	case ev.State == sched.Queued:
		t.reports.entered(ev, wire.CallQueued, t.parent(ev.Agent))
	case ev.State == sched.Executing:
		t.reports.entered(ev, wire.CallExecuting, t.parent(ev.Agent))
	}
}

// asked reports that a call waits for a user.
func (t *teller) asked(ev agent.Waiting) {
	if t.reports != nil {
		t.reports.entered(sched.Event{CallID: ev.CallID, UseID: ev.UseID, Tool: ev.Tool, Agent: ev.Agent}, wire.CallAsked, t.parent(ev.Agent))
	}
}

// reportCalls has the states and the progress of calls sent.
func (t *teller) reportCalls() {
	t.reports = newCallReports(func(m *wire.ToolProgress) {
		m.Stamp = t.stamp("")
		t.send(m)
	})
}

func (t *teller) turnStarted(ev agent.TurnStarted) {
	t.inTurn = true
	t.state(wire.StateRunning)
	t.tools = ev.Tools
	t.prompts = t.followed(ev.Prompts)
	for _, uuid := range t.prompts {
		t.lifecycle(uuid, "started")
	}
	t.started = t.prompts
	init := t.facts(ev)
	init.Stamp = t.stamp("")
	init.UserMessageUUIDs = t.prompts
	t.send(init)
}

func (t *teller) compacted(ev agent.Compacted) {
	status := &wire.Status{Stamp: t.stamp(""), CompactResult: "success"}
	if ev.Err != nil {
		status.CompactResult, status.CompactError = "failed", ev.Err.Error()
	}
	t.send(status)
	if ev.Err == nil {
		t.send(&wire.CompactBoundary{Stamp: t.stamp(ev.UUID), CompactMetadata: wire.CompactMetadata{
			Trigger: ev.Trigger, PreTokens: int(ev.PreTokens), PostTokens: int(ev.Tokens), DurationMS: ev.Duration.Milliseconds(),
		}})
	}
}

func (t *teller) changed(ev agent.Changed) {
	text, _ := ev.Value.(string)
	switch ev.What {
	case agent.Mode:
		t.send(&wire.Status{Stamp: t.stamp(""), PermissionMode: text})
	case agent.Title:
		t.send(&wire.SessionTitleChanged{Stamp: t.stamp(""), Title: text})
	case agent.Cleared:
		t.send(&wire.ConversationReset{Stamp: t.stamp(""), NewConversationID: text, Trigger: "clear"})
		t.inSession(text)
	}
}

func (t *teller) retrying(ev agent.Retrying) {
	m := &wire.APIRetry{Stamp: t.stamp(""), Attempt: ev.Attempt, MaxRetries: ev.Max, RetryDelayMS: int(ev.Delay.Milliseconds()), Error: "unknown"}
	if ev.Err != nil {
		m.ErrorStatus, m.Error = status(ev.Err), ev.Err.Kind.WireName()
	}
	t.send(m)
}

// state reports the state of the session to a host that asked for it.
func (t *teller) state(state string) {
	was := t.now.Swap(&state)
	if was != nil && *was == state || was == nil && state == wire.StateIdle {
		return
	}
	if t.states {
		t.send(&wire.SessionStateChanged{Stamp: t.stamp(""), State: state, SDKHostOnly: true})
	}
}

// lifecycle follows a prompt that has a name.
func (t *teller) lifecycle(uuid, state string) {
	t.send(&wire.CommandLifecycle{Stamp: t.stamp(""), CommandUUID: uuid, State: state})
}

// follow notes that a prompt has a name that the program gave it.
func (t *teller) follow(uuid string) {
	t.named.Store(uuid, true)
	t.lifecycle(uuid, "queued")
}

// followed are the ids of those prompts that the program named.
func (t *teller) followed(prompts []agent.Prompt) (uuids []string) {
	for _, p := range prompts {
		if _, ok := t.named.Load(p.UUID); ok {
			uuids = append(uuids, p.UUID)
		}
	}
	return uuids
}

// inSession says which session messages are about from now on.
func (t *teller) inSession(id string) { t.session.Store(&id) }

// sessionID is "" before there is a session.
func (t *teller) sessionID() string {
	if id := t.session.Load(); id != nil {
		return *id
	}
	return ""
}

// stamp names a message; "" makes a name.
func (t *teller) stamp(uuid string) wire.Stamp {
	if uuid == "" {
		uuid = session.NewUUID()
	}
	return wire.Stamp{UUID: uuid, SessionID: t.sessionID()}
}

// status is that of HTTP, nil if there was no answer.
func status(err *model.Error) *int {
	if err.Status == 0 {
		return nil
	}
	return &err.Status
}

func timestamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// heartbeat reports that a call still runs.
func (t *teller) heartbeat(useID, tool string, n int, elapsed time.Duration) {
	t.send(&wire.ToolProgress{Stamp: t.stamp(""), ToolUseID: fmt.Sprintf("%s-heartbeat-%d", useID, n), ToolName: tool,
		ParentToolUseID: wire.NullString(useID), ElapsedTimeSeconds: elapsed.Seconds(), Heartbeat: true})
}

// doing is what the session does.
func (t *teller) doing() string {
	if now := t.now.Load(); now != nil {
		return *now
	}
	return wire.StateIdle
}

// hookEvents are the two messages about a run. There is no field for why a hook failed: the
// cause is part of the output, and is used as the error output if the hook wrote none.
func (t *teller) hookEvents(r hook.Run) (*wire.HookStarted, *wire.HookResponse) {
	id, event, name := session.NewUUID(), string(r.Event), string(r.Event)
	if r.Tool != "" {
		name += ":" + r.Tool
	}
	ended := &wire.HookResponse{Stamp: t.stamp(""), HookID: id, HookName: name, HookEvent: event, Stdout: r.Stdout, Stderr: r.Stderr, Outcome: "success"}
	parts := []string{r.Stdout, r.Stderr}
	if r.Err != nil {
		ended.Outcome, ended.Stderr = "error", cmp.Or(r.Stderr, r.Err.Error())
		parts = []string{r.Stdout, r.Err.Error()} // which quotes the error output
	}
	if r.Cancelled {
		ended.Outcome = "cancelled"
	}
	if r.ExitCode >= 0 {
		ended.ExitCode = &r.ExitCode
	}
	ended.Output = strings.Trim(strings.Join(parts, "\n"), "\n")
	return &wire.HookStarted{Stamp: t.stamp(""), HookID: id, HookName: name, HookEvent: event}, ended
}

func (t *teller) warn(text string) {
	t.send(&wire.Informational{Stamp: t.stamp(""), Level: "warning", Content: text})
}

// waits reports whether the session waits for an answer.
func (t *teller) waits(waiting bool) {
	n := int32(-1)
	if waiting {
		n = 1
	}
	if t.questions.Add(n) > 0 {
		t.state(wire.StateRequiresAction)
	} else {
		t.state(wire.StateRunning)
	}
}
