package acp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	sessions "github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A teller tells the client what happens in a session. It belongs to the goroutine that
// reads the conversation's events.
type teller struct {
	s     *session
	tools *tool.Set

	message  string         // the provider's name of the answer that arrives
	streamed map[string]int // how many texts of a message came in pieces, and are not repeated
	calls    map[string]*call
	progress map[string]time.Time // of a call, when it was last told
	plan     []planEntry
	usage    usageUpdate
	offered  []command
	compact  string // the compaction that runs
	// replaying says that what is told has happened before.
	replaying bool
	mode      string
	chosen    []configOption
}

func newTeller(s *session) *teller {
	return &teller{
		s: s, tools: s.talk.Agent.Tools(), streamed: make(map[string]int), calls: make(map[string]*call), progress: make(map[string]time.Time),
		mode: s.mode(), chosen: s.options(),
	}
}

// send tells the client about the session.
func (t *teller) send(update any) { t.s.update(update) }

// event tells what an event means to the client.
func (t *teller) event(ev agent.Event) {
	switch ev := ev.(type) {
	case agent.TurnStarted:
		t.tools = ev.Tools
	case agent.Requesting:
		t.used()
	case agent.Streamed:
		t.piece(ev.Event)
	case agent.Said:
		t.said(ev)
	case agent.Called:
		t.called(ev.Event)
	case agent.Returned:
		t.returned(ev.Outcome)
	case agent.Retrying:
		t.retrying(ev)
	case agent.FellBack:
		t.notice("warning", fmt.Sprintf("Continuing with %s: %s is overloaded.", ev.To, ev.From))
	case agent.Compacting:
		t.compacting()
	case agent.Compacted:
		t.compacted(ev)
	case agent.Changed:
		t.changed(ev)
	case agent.TaskChanged:
		t.task(ev)
	case agent.Notice:
		t.notice(ev.Level, ev.Text)
	case agent.Result:
		t.result(ev)
	}
}

// piece tells a piece of an answer.
func (t *teller) piece(ev model.Event) {
	switch ev := ev.(type) {
	case model.Start:
		t.message = ev.ID
		clear(t.streamed) // one answer at a time arrives in pieces
	case model.Delta:
		switch ev.Type {
		case model.TextDelta:
			t.chunk(updateAgent, ev.Text)
		case model.ThinkingDelta:
			t.chunk(updateThought, ev.Text)
		default:
			return
		}
		t.streamed[t.message]++
	}
}

func (t *teller) chunk(kind, text string) {
	if text != "" {
		t.send(chunk{Kind: kind, Content: textOf(text), MessageID: t.message})
	}
}

// say says something that no model has said.
func (t *teller) say(text string) {
	t.send(chunk{Kind: updateAgent, Content: textOf(text)})
}

// said tells a whole block: a call, and text that did not come in pieces. What
// sub-agents say is for the agent that they work for.
func (t *teller) said(ev agent.Said) {
	switch {
	case ev.Error != nil:
		t.notice("error", ev.Block.Text)
	case ev.Block.Type == model.ToolUse:
		t.begin(ev.Agent, ev.Block)
	case ev.Agent != "" || t.streamed[ev.MessageID] > 0:
	case ev.Block.Type == model.Text:
		t.send(chunk{Kind: updateAgent, Content: textOf(ev.Block.Text), MessageID: ev.MessageID})
	case ev.Block.Type == model.Thinking && ev.Block.Text != "":
		t.send(chunk{Kind: updateThought, Content: textOf(ev.Block.Text), MessageID: ev.MessageID})
	}
}

// noticeUpdate is something for the user to read.
type noticeUpdate struct {
	Kind     string `json:"sessionUpdate"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
}

// notice tells the user something that is not part of the conversation. A client that
// has no place for it gets warnings and errors as text, as the protocol has it.
func (t *teller) notice(level, text string) {
	text = visible.Text(strings.TrimSpace(text))
	if text == "" {
		return
	}
	severity := "info"
	if level == "warning" || level == "error" {
		severity = level
	}
	switch {
	case t.s.client.Session.Notices != nil:
		t.send(noticeUpdate{"notice", severity, text})
	case severity == "warning":
		t.say("**Warning:** " + text + "\n\n")
	case severity == "error":
		t.say("**Error:** " + text + "\n\n")
	}
}

func (t *teller) retrying(ev agent.Retrying) {
	why := "it did not answer"
	if ev.Err != nil {
		why = ev.Err.Error()
	}
	if t.s.client.Session.Notices != nil { // it passes, and is not worth a line of the conversation
		t.notice("warning", fmt.Sprintf("The model's server failed: %s. Retrying in %s (%d of %d).", why, ev.Delay.Round(100*time.Millisecond), ev.Attempt, ev.Max))
	}
}

// compactionUpdate tells how far the summary of a conversation is.
type compactionUpdate struct {
	Kind   string `json:"sessionUpdate"`
	ID     string `json:"compactionId"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

func (t *teller) compacting() {
	if t.s.client.Session.Compaction == nil {
		return
	}
	t.compact = fmt.Sprintf("compaction-%d", time.Now().UnixNano())
	t.send(compactionUpdate{Kind: "compaction_update", ID: t.compact, Status: statusInProgress})
}

func (t *teller) compacted(ev agent.Compacted) {
	switch {
	case t.s.client.Session.Compaction != nil && ev.Err != nil:
		t.send(compactionUpdate{"compaction_update", t.compact, statusFailed, ev.Err.Error()})
	case t.s.client.Session.Compaction != nil:
		t.send(compactionUpdate{Kind: "compaction_update", ID: t.compact, Status: statusCompleted})
	case ev.Err != nil:
		t.notice("warning", "Could not compact the conversation: "+ev.Err.Error())
	default:
		t.say(fmt.Sprintf("*The conversation was compacted from about %d to %d tokens.*\n\n", ev.PreTokens, ev.Tokens))
	}
}

// changed tells a new value of what the client shows.
func (t *teller) changed(ev agent.Changed) {
	switch ev.What {
	case agent.Mode, agent.ModelName:
		t.chosenNow()
	case agent.Title:
		t.send(map[string]any{"sessionUpdate": "session_info_update", "title": title(fmt.Sprint(ev.Value))})
	case agent.Todos, agent.Tasks:
		t.planned(ev.Value)
	case agent.Tools:
		if set, ok := ev.Value.(*tool.Set); ok {
			t.tools = set
		}
		t.commands() // servers bring prompts along with tools
	}
}

// chosenNow tells the mode and the options, if they are others than the client knows.
func (t *teller) chosenNow() {
	if now := t.s.mode(); now != t.mode {
		t.mode = now
		t.send(map[string]any{"sessionUpdate": "current_mode_update", "currentModeId": now})
	}
	if now := t.s.options(); !reflect.DeepEqual(now, t.chosen) {
		t.chosen = now
		t.send(map[string]any{"sessionUpdate": "config_option_update", "configOptions": now})
	}
}

// planned tells what there is to do. Todos and tasks are both lists of things with a
// state, as every front end gets them.
func (t *teller) planned(value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	var items []struct {
		Content, Subject, Status string
	}
	if json.Unmarshal(raw, &items) != nil {
		return
	}
	entries := []planEntry{}
	for _, i := range items {
		switch i.Status {
		case statusPending, statusInProgress, statusCompleted:
			entries = append(entries, planEntry{Content: cmp.Or(i.Content, i.Subject), Priority: "medium", Status: i.Status})
		}
	}
	if len(entries)+len(t.plan) > 0 && !reflect.DeepEqual(entries, t.plan) {
		t.plan = entries
		t.send(plan{"plan", entries})
	}
}

// task follows sub-agents: their calls belong to the one that started them.
func (t *teller) task(ev agent.TaskChanged) {
	if ev.Change == "started" && ev.Task.Type == "local_agent" {
		t.s.parents.Store(ev.Task.ID, ev.Task.UseID)
	}
}

type usageUpdate struct {
	Kind string `json:"sessionUpdate"`
	Used int64  `json:"used"`
	Size int64  `json:"size"`
	Cost cost   `json:"cost"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// used tells how full the context is and what the session has cost.
func (t *teller) used() {
	c := t.s.talk.Agent.ContextUsage()
	now := usageUpdate{Kind: "usage_update", Used: c.Total, Size: c.Window, Cost: cost{Currency: "USD"}}
	for _, u := range t.s.talk.Agent.Usage() {
		now.Cost.Amount += u.Cost
	}
	if now != t.usage {
		t.usage = now
		t.send(now)
	}
}

// result ends a turn: calls that never returned do not run any more.
func (t *teller) result(ev agent.Result) {
	for id, c := range t.calls {
		if c.agent == "" {
			t.send(callUpdate{Update: updateCallChange, ID: id, Status: statusFailed})
			delete(t.calls, id)
		}
	}
	if ev.Reason.IsError() && ev.Err == nil && ev.Reason != agent.AbortedTools && ev.Reason != agent.AbortedStreaming {
		t.notice("error", failure(ev))
	}
	t.used()
}

// failure is why a turn did not do what was asked.
func failure(r agent.Result) string {
	return cmp.Or(strings.Join(r.Errors, "\n"), r.Text, string(r.Reason))
}

// command is something that can be typed after a slash.
type command struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Input       *commandInputs `json:"input,omitempty"`
}

type commandInputs struct {
	Hint string `json:"hint"`
}

// commands tells what can be typed after a slash, if that has changed. A session of an
// editor is not cleared.
func (t *teller) commands() {
	list := []command{}
	for _, c := range t.s.talk.Input().Commands.List().Commands {
		if c.Name == "clear" {
			continue
		}
		item := command{Name: c.Name, Description: visible.Indented(c.Description)}
		if c.Hint != "" {
			item.Input = &commandInputs{visible.Indented(c.Hint)}
		}
		list = append(list, item)
	}
	if !reflect.DeepEqual(list, t.offered) {
		t.offered = list
		t.send(map[string]any{"sessionUpdate": "available_commands_update", "availableCommands": list})
	}
}

// called tells that a call runs, or how far it is.
func (t *teller) called(ev sched.Event) {
	c := t.calls[ev.UseID]
	switch {
	case c == nil:
	case ev.Progress != nil:
		t.advanced(c, ev)
	case ev.State == sched.Executing:
		t.send(callUpdate{Update: updateCallChange, ID: ev.UseID, Status: statusInProgress})
	}
}

// silent are tools whose calls are not shown: the plan says what they did.
var silent = map[string]bool{"TodoWrite": true, "TaskCreate": true, "TaskUpdate": true, "TaskGet": true, "TaskList": true}

// fenced is output that is not complete yet; "" if there is none.
func fenced(language, output string) string {
	if strings.TrimSpace(output) == "" {
		return ""
	}
	return fence(language, visible.Text(output))
}

// begin tells of a call that the model makes.
func (t *teller) begin(agent string, b model.Block) {
	tl := t.tools.Lookup(b.Name)
	if tl != nil && silent[tl.Name] && tl.Source == "" {
		return
	}
	c := &call{id: b.ID, agent: agent, tool: tl}
	t.calls[b.ID] = c
	u := t.s.describe(t.tools, tl, &tool.Call{UseID: b.ID, Tool: b.Name, Input: b.Input, Agent: agent})
	u.Update, u.Status = updateCall, statusPending
	if u.Kind == "edit" && len(u.Locations) == 1 {
		c.file = u.Locations[0].Path
	}
	if c.terminal = u.Kind == "execute" && t.s.client.Meta.TerminalOutput && !t.replaying; c.terminal {
		u.Content = []any{terminalItem{"terminal", b.ID}}
		u.Meta = with(u.Meta, "terminal_info", map[string]any{"terminal_id": b.ID, "cwd": t.s.talk.World.Shell.Dir(agent)})
	}
	t.send(u)
}

func with(meta map[string]any, key string, value any) map[string]any {
	if meta == nil {
		meta = make(map[string]any)
	}
	meta[key] = value
	return meta
}

// Progress is told so often at most, and so much of it.
const (
	progressTime = 250 * time.Millisecond
	progressText = 8 << 10
)

// advanced tells how far a call is. A terminal gets all of the output in the end: what
// is known meanwhile is only its last lines.
func (t *teller) advanced(c *call, ev sched.Event) {
	if time.Since(t.progress[c.id]) < progressTime {
		return
	}
	text := ""
	switch p := ev.Progress.(type) {
	case tool.BashProgress:
		text = fenced("console", tail(p.Output))
	case tool.EvalProgress:
		text = fenced("", tail(p.Output))
	case tool.AgentProgress:
		text = visible.Text(p.Activity)
	case tool.MCPProgress:
		text = visible.Text(p.Message)
	case tool.WebSearchProgress:
		text = visible.Text(p.Query) + ": " + plural.Of(p.Results, "result")
	case tool.TextProgress:
		text = visible.Text(p.Text)
	}
	if text == "" {
		return
	}
	t.progress[c.id] = time.Now()
	t.send(callUpdate{Update: updateCallChange, ID: c.id, Status: statusInProgress, Content: []any{content(textOf(text))}})
}

// tail is the end of a text that is too long to be sent every time.
func tail(text string) string {
	if len(text) <= progressText {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-progressText:], "")
}

// returned tells how a call went.
func (t *teller) returned(out *sched.Outcome) {
	c := t.calls[out.UseID]
	delete(t.calls, out.UseID)
	delete(t.progress, out.UseID)
	shown := t.s.changed(out.UseID)
	if c == nil {
		return
	}
	u := callUpdate{Update: updateCallChange, ID: c.id, Status: statusCompleted, RawOutput: rawOutput(out)}
	if out.IsError() {
		u.Status = statusFailed
	}
	var diffs []any
	diffs, u.Locations = made(c.file, out, shown)
	text := card.Text(out)
	switch {
	case c.terminal && out.Ran():
		t.send(callUpdate{Update: updateCallChange, ID: c.id, Meta: map[string]any{
			"terminal_output": map[string]any{"terminal_id": c.id, "data": strings.ReplaceAll(visible.Text(text), "\n", "\r\n")},
		}})
		u.Content = append([]any{terminalItem{"terminal", c.id}}, diffs...)
		u.Meta = with(u.Meta, "terminal_exit", map[string]any{"terminal_id": c.id, "exit_code": exitCode(out), "signal": nil})
	case len(diffs) > 0 && !out.IsError() && c.tool != nil && c.tool.Command == nil:
		u.Content = diffs // the text only repeats them
	default:
		u.Content = append(shownBlocks(out, text, c.tool), diffs...)
	}
	t.send(u)
}

// shownBlocks is what came back, for people: output as it is, images, and what a
// sub-agent or a page says as Markdown.
func shownBlocks(out *sched.Outcome, text string, t *tool.Tool) (list []any) {
	if text = visible.Text(text); text != "" {
		language := ""
		if t != nil && t.Command != nil {
			language = "console"
		}
		if out.IsError() || t == nil || t.Name != "Agent" && t.Address == nil {
			text = fence(language, text)
		}
		list = append(list, content(textOf(text)))
	}
	for _, b := range out.Result.Content {
		if b.Type == tool.ImageBlock && len(b.Data) > 0 {
			list = append(list, content(map[string]string{"type": "image", "mimeType": b.MediaType, "data": base64.StdEncoding.EncodeToString(b.Data)}))
		}
	}
	return list
}

// rawOutput is the typed output of a call, if it is not large: its text is shown anyway.
func rawOutput(out *sched.Outcome) json.RawMessage {
	const most = 32 << 10
	if out.Result.Output == nil {
		return nil
	}
	raw, err := json.Marshal(out.Result.Output)
	if err != nil || len(raw) > most {
		return nil
	}
	return raw
}

// exitCode is that of a command; nil if it is not known.
func exitCode(out *sched.Outcome) any {
	raw := rawOutput(out)
	var o struct {
		ExitCode *int `json:"exitCode"`
	}
	if json.Unmarshal(raw, &o) != nil || o.ExitCode == nil {
		return nil
	}
	return *o.ExitCode
}

// made is what a call has changed: what the user was shown and has approved, and
// otherwise what its output says. Of a call that the user has denied it is what they
// denied.
func made(path string, out *sched.Outcome, asked *tool.Preview) ([]any, []location) {
	switch {
	case asked != nil && (!out.IsError() || out.Status == sched.Denied):
		return diffs(asked)
	case out.IsError(), out.Result.Output == nil, path == "":
		return nil, nil
	}
	raw, err := json.Marshal(out.Result.Output)
	if err != nil {
		return nil, nil
	}
	var o struct {
		Type    string       `json:"type"`
		Content string       `json:"content"`
		Before  *string      `json:"originalFile"`
		Cells   *string      `json:"original_file"`
		Hunks   []patch.Hunk `json:"structuredPatch"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return nil, nil
	}
	before := cmp.Or(o.Before, o.Cells)
	switch {
	case o.Type == "create":
		return []any{diff(path, nil, &o.Content, nil)}, []location{{Path: path, Line: 1}}
	case len(o.Hunks) > 0 && before != nil:
		old, now := places(o.Hunks)
		if after, err := patch.Apply([]byte(*before), o.Hunks); err == nil {
			old, now = *before, string(after)
		}
		return []any{diff(path, &old, &now, o.Hunks)}, []location{{Path: path, Line: firstLine(o.Hunks)}}
	}
	return nil, nil
}

type chunk struct {
	Kind      string `json:"sessionUpdate"`
	Content   any    `json:"content"`
	MessageID string `json:"messageId,omitempty"`
}

// replay tells one block of a message.
func (t *teller) replay(e sessions.Entry, b model.Block) {
	said := func(kind, text string) {
		t.send(chunk{Kind: kind, Content: textOf(text), MessageID: e.UUID})
	}
	switch {
	case b.Type == model.ToolUse:
		t.begin("", b)
	case b.Type == model.ToolResult:
		t.returned(outcome(e.Message, b))
	case e.Message.Role == model.User:
		if text := harness.Typed([]model.Block{b}); text != "" {
			said(updateUser, text)
		}
		if image := imageOf(b); image != nil {
			t.send(chunk{Kind: updateUser, Content: image, MessageID: e.UUID})
		}
	case b.Type == model.Text && b.Text != "":
		said(updateAgent, b.Text)
	case b.Type == model.Thinking && b.Text != "":
		said(updateThought, b.Text)
	}
}

// outcome is how a call went, as the journal has it.
func outcome(m *sessions.Message, b model.Block) *sched.Outcome {
	out := &sched.Outcome{UseID: b.UseID, Result: tool.Result{Content: b.Content}}
	if b.IsError {
		out.Status = sched.Failed
	}
	if len(m.Output) > 0 {
		out.Result.Output = m.Output
	}
	return out
}

// imageOf is an image that the user sent; nil if the block is none.
func imageOf(b model.Block) any {
	var image struct {
		Source struct {
			Type, Data string
			MediaType  string `json:"media_type"`
		}
	}
	if b.Type != "image" || json.Unmarshal(b.Raw, &image) != nil || image.Source.Type != "base64" {
		return nil
	}
	return map[string]string{"type": "image", "mimeType": image.Source.MediaType, "data": image.Source.Data}
}
