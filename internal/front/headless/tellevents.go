package headless

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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

// said reports one block of an answer. From a sub-agent in the foreground, a program gets
// the calls, and the text only if it wants it.
func (t *teller) said(ev agent.Said) {
	child, isChild := t.agents[ev.Agent]
	if isChild && ev.Block.Type != model.ToolUse && !child.Background && !t.texts {
		return
	}
	m := &wire.Assistant{
		Stamp: t.stamp(ev.UUID), ParentToolUseID: t.parent(ev.Agent), AgentID: ev.Agent, Aborted: ev.Aborted, Timestamp: timestamp(),
		SubagentType: child.AgentType, TaskDescription: child.Description,
		Message: wire.AssistantMessage{
			ID: ev.MessageID, Type: "message", Role: "assistant", Model: ev.Model,
			Content: wire.List[wire.Block]{block(ev.Block)}, Usage: usage(ev.Usage),
		},
	}
	if len(t.prompts) > 0 && !isChild {
		m.UserMessageUUID, m.UserMessageUUIDs, t.prompts = t.prompts[0], t.prompts, nil
	}
	if ev.Error != nil {
		m.Message.Model, m.Message.StopReason = "<synthetic>", "stop_sequence"
		m.Error, m.IsAPIErrorMessage, m.APIErrorStatus, m.APIErrorType = ev.Error.Kind.WireName(), true, status(ev.Error), ev.Error.Type
	}
	t.send(m)
}

// result ends a turn.
func (t *teller) result(ev agent.Result) {
	r := &wire.Result{
		Stamp: t.stamp(ev.UUID), Subtype: subtype(ev.Reason), IsError: t.isError(ev),
		DurationMS: ev.Duration.Milliseconds(), DurationAPIMS: ev.APITime.Milliseconds(),
		NumTurns: 1 + ev.Calls, StopReason: wire.NullString(ev.StopReason), Usage: usage(ev.Usage),
		TerminalReason: terminalReason(ev.Reason), QueuedTurnCount: ev.Queued, ResultIndex: t.results, LocalCommand: ev.Command,
		StructuredOutput: ev.Structured,
	}
	if ev.TTFT != nil {
		r.TTFTMS = new(int(ev.TTFT.Milliseconds()))
	}
	t.results++
	if unsent(ev) {
		t.send(&wire.Informational{Stamp: t.stamp(""), Level: "warning", Content: ev.Text})
	}
	if ev.Requests == 0 {
		r.NumTurns = 0
	}
	r.ModelUsage, r.TotalCostUSD = t.modelUsage(ev.Total)
	for _, d := range ev.Denials {
		r.PermissionDenials = append(r.PermissionDenials, wire.PermissionDenial{ToolName: d.Tool, ToolUseID: d.UseID, ToolInput: d.Input})
	}
	if r.UserMessageUUIDs = t.followed(ev.Prompts); len(r.UserMessageUUIDs) > 0 {
		r.UserMessageUUID = r.UserMessageUUIDs[0]
	}
	if r.Subtype == wire.ResultSuccess {
		r.Result = ev.Text
		if ev.Err != nil {
			r.StopReason, r.APIErrorStatus, r.APIErrorType = "stop_sequence", status(ev.Err), ev.Err.Type
		}
	} else if r.Errors = ev.Errors; len(r.Errors) == 0 {
		r.Errors = []string{string(ev.Reason)}
	}
	r.Origin = ev.Sender
	if ev.Origin != "" {
		r.Origin = mustJSON(map[string]string{"kind": ev.Origin})
	}
	t.prompts = nil
	t.send(r)
	state := "completed"
	if ev.Reason == agent.AbortedTools || ev.Reason == agent.AbortedStreaming {
		state = "cancelled"
	}
	for _, uuid := range r.UserMessageUUIDs {
		t.lifecycle(uuid, state)
	}
	t.inTurn = false
	if ev.Queued == 0 {
		t.rest()
	}
}

// rest reports that nothing runs. After that a program may stop answering, although an
// agent in the background may still have questions.
func (t *teller) rest() {
	for _, k := range t.tasks {
		if k.Type == "local_agent" {
			return
		}
	}
	t.state(wire.StateIdle)
}

// isError reports whether the turn is an error. A hook that ends a turn does what it is
// for; but a caller that waits for one answer has none if the prompt was not sent.
func (t *teller) isError(ev agent.Result) bool {
	return ev.Reason.IsError() && (ev.Reason != agent.StoppedByHook || t.oneAnswer && unsent(ev))
}

func (t *teller) modelUsage(total map[string]agent.ModelUsage) (map[string]wire.ModelUsage, float64) {
	out, cost := map[string]wire.ModelUsage{}, 0.0
	for name, u := range total {
		m := wire.ModelUsage{
			InputTokens: int(u.Input), OutputTokens: int(u.Output), CacheReadInputTokens: int(u.CacheRead), CacheCreationInputTokens: int(u.CacheWrite),
			WebSearchRequests: int(u.Searches), CostUSD: u.Cost, CanonicalModel: name,
		}
		if u.Unpriced {
			m.CostBasis = "unknown"
		}
		if t.modelFor != nil {
			window, output := t.modelFor(name)
			m.ContextWindow, m.MaxOutputTokens = int(window), int(output)
		}
		out[name], cost = m, cost+u.Cost
	}
	return out, cost
}

// task reports background work.
func (t *teller) task(ev agent.TaskChanged) {
	k := ev.Task
	switch ev.Change {
	case "started":
		if k.Type == "local_agent" {
			t.agents[k.ID] = k
		}
		t.background(k)
		t.send(&wire.TaskStarted{Stamp: t.stamp(""), TaskID: k.ID, RunID: k.ID, ToolUseID: k.UseID, Description: k.Description,
			TaskType: k.Type, IsBackgrounded: k.Background, SubagentType: k.AgentType, Prompt: k.Prompt})
	case "progress":
		t.send(&wire.TaskProgress{Stamp: t.stamp(""), TaskID: k.ID, ToolUseID: k.UseID, Description: k.Description,
			SubagentType: k.AgentType, Usage: taskUsage(k), LastToolName: k.LastTool, Summary: k.Summary})
	case "updated":
		t.send(&wire.TaskUpdated{Stamp: t.stamp(""), TaskID: k.ID, Patch: wire.TaskPatch{Status: k.Status, IsBackgrounded: &k.Background}})
		t.background(k)
	case "ended":
		t.send(&wire.TaskUpdated{Stamp: t.stamp(""), TaskID: k.ID, Patch: wire.TaskPatch{Status: k.Status, EndTime: k.Ended.UnixMilli()}})
		t.send(&wire.TaskNotification{Stamp: t.stamp(""), TaskID: k.ID, ToolUseID: k.UseID, Status: k.Status,
			OutputFile: k.OutputFile, Summary: k.Summary, Usage: taskUsage(k)})
		t.background(k)
		if k.Status == "stopped" && !t.inTurn { // otherwise a turn follows that tells the model
			t.rest()
		}
	}
}

// background keeps the list of background tasks, and reports when it changes.
func (t *teller) background(k agent.Task) {
	_, was := t.tasks[k.ID]
	is := k.Background && k.Ended.IsZero()
	if was == is {
		return
	}
	if is {
		t.tasks[k.ID] = k
	} else {
		delete(t.tasks, k.ID)
	}
	t.send(t.backgroundTasks())
}

func (t *teller) backgroundTasks() *wire.BackgroundTasksChanged {
	m := &wire.BackgroundTasksChanged{Stamp: t.stamp("")}
	for _, k := range slices.SortedFunc(maps.Values(t.tasks), func(a, b agent.Task) int { return cmp.Compare(a.ID, b.ID) }) {
		m.Tasks = append(m.Tasks, wire.BackgroundTask{TaskID: k.ID, TaskType: k.Type, Description: k.Description, SubagentType: k.AgentType})
	}
	return m
}

// parent is the call that a sub-agent belongs to; "" is the main conversation.
func (t *teller) parent(agentID string) wire.NullString {
	return wire.NullString(t.agents[agentID].UseID)
}

// added reports a message that the harness added, and repeats prompts if the program wants
// that.
func (t *teller) added(ev agent.Added) {
	m := &wire.User{UUID: ev.UUID, SessionID: t.sessionID(), ParentToolUseID: t.parent(ev.Agent), AgentID: ev.Agent, Timestamp: timestamp()}
	m.Message = wire.UserMessage{Role: "user", Content: content(ev.Message.Content)}
	switch ev.Kind {
	case agent.Prompted:
		t.joins(ev)
		child := t.agents[ev.Agent]
		if ev.Agent == "" && !t.replay || child.Background {
			return
		}
		m.IsReplay, m.SubagentType, m.TaskDescription = ev.Agent == "", child.AgentType, child.Description
		if m.IsReplay && ev.Prompt != nil { // as it was sent, without what the model is told about it
			m.Origin, m.Message.Content = ev.Prompt.Sender, content(ev.Prompt.Content)
			if ev.Prompt.Typed && len(ev.Prompt.Content) == 1 {
				m.Message.Content = wire.Content{Text: ev.Prompt.Content[0].Text}
			}
		}
	case agent.Interrupted:
	case agent.Summarized:
		m.IsSynthetic = true
		m.Message.Content = wire.Content{Text: textOf(ev.Message.Content)}
	case agent.Instructed:
		m.IsSynthetic = true
	default:
		return // what is only for the model
	}
	t.send(m)
}

// joins reports that a prompt has joined the running turn.
func (t *teller) joins(ev agent.Added) {
	if ev.Prompt == nil || ev.Agent != "" || slices.Contains(t.started, ev.Prompt.UUID) {
		return
	}
	for _, uuid := range t.followed([]agent.Prompt{*ev.Prompt}) {
		t.lifecycle(uuid, "started")
	}
}
