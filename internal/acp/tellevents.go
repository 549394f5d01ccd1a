package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
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
