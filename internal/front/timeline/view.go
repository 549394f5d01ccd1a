package timeline

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A View is a session as it is at a position of its journal.
type View struct {
	items []*Item
	turns []Turn
	lanes []Lane
	calls map[string]*Item // by tool_use id
	asked map[string]*Item // by the id of an open question
	byID  map[string]*Item // by the id of a call
	// servers are questions of MCP servers, which are about no call, by their id.
	servers map[string]*Item
	spent   map[string]answer
	path    path

	title, mode, model string
	todos              json.RawMessage
	submitted          json.RawMessage // what a client gave the session when it began
	working, failed    bool
	unpriced           bool
	last               string
	at                 session.Position
	revision           int // how many entries were taken in
}

// An answer is the one that a lane has last begun, with what is counted of it.
type answer struct {
	id    string
	usage model.Usage
	cost  float64
}

// newView returns the view of a session of which nothing is known yet.
func newView() *View {
	return &View{path: newPath(), calls: map[string]*Item{}, asked: map[string]*Item{}, byID: map[string]*Item{}, servers: map[string]*Item{}, spent: map[string]answer{}}
}

// A Summary is what a list shows of a session.
type Summary struct {
	Title string `json:"title,omitempty"`
	Model string `json:"model,omitempty"`
	Mode  string `json:"mode,omitempty"`
	// Working says that the last prompt has no answer yet, Asking how many questions are
	// open, Failed that an error took the place of the last answer.
	Working bool            `json:"working"`
	Asking  int             `json:"asking"`
	Failed  bool            `json:"failed"`
	Usage   Usage           `json:"usage"`
	Cost    float64         `json:"cost"`
	Items   int             `json:"items"`
	Calls   int             `json:"calls"`
	Turns   int             `json:"turns"`
	Lanes   []Lane          `json:"lanes"`
	Todos   json.RawMessage `json:"todos,omitempty"`
	// Unpriced says that the cost is not that of all answers, because a price is not known.
	Unpriced bool `json:"unpriced,omitempty"`
	// Last is the last line that was said.
	Last string `json:"last,omitempty"`
	// Position is where in the journal this is.
	Position session.Position `json:"position"`
}

// Summary is the view in short.
func (v *View) Summary() Summary {
	s := Summary{
		Title: v.title, Model: v.model, Mode: v.mode, Working: v.working, Asking: len(v.asked), Failed: v.failed, Items: len(v.items),
		Turns: len(v.turns), Lanes: slices.Clone(v.lanes), Todos: v.todos, Last: v.last, Position: v.at, Unpriced: v.unpriced,
	}
	for _, t := range v.turns {
		s.Usage.Input += t.Usage.Input
		s.Usage.Output += t.Usage.Output
		s.Usage.CacheRead += t.Usage.CacheRead
		s.Usage.CacheWrite += t.Usage.CacheWrite
		s.Cost += t.Cost
		s.Calls += t.Calls
		if t.Usage.Context > 0 {
			s.Usage.Context = t.Usage.Context
		}
	}
	return s
}

// Items are those from an index on, at most n. They are the view's own.
func (v *View) Items(from, n int) []*Item {
	from = min(max(from, 0), len(v.items))
	return v.items[from:min(len(v.items), from+max(n, 0))]
}

// Turns are all turns.
func (v *View) Turns() []Turn { return v.turns }

// Revision numbers the states of a view; it grows with every entry.
func (v *View) Revision() int { return v.revision }

// Since are the items and turns that were made or changed after a revision.
func (v *View) Since(revision int) (items []*Item, turns []Turn) {
	for _, i := range v.items {
		if i.revision > revision {
			items = append(items, i)
		}
	}
	for _, t := range v.turns {
		if t.revision > revision {
			turns = append(turns, t)
		}
	}
	return items, turns
}

// Asked is the call that a question is or was about; nil if there is none. Open says that
// it has no answer yet. A question of an MCP server has an item that is not in the list.
func (v *View) Asked(question string) (i *Item, open bool) {
	if i := v.asked[question]; i != nil {
		return i, true
	}
	for n := len(v.items) - 1; n >= 0; n-- {
		if c := v.items[n].Call; c != nil && c.Question == question {
			return v.items[n], false
		}
	}
	return v.servers[question], false
}

// Prompted reports whether the session has a prompt with this id.
func (v *View) Prompted(id string) bool {
	for n := len(v.items) - 1; n >= 0; n-- {
		if i := v.items[n]; i.Kind == Prompt && i.ID == id {
			return true
		}
	}
	return false
}

// LastPrompt is the id of the last prompt of the user; "" if there is none.
func (v *View) LastPrompt() string {
	for n := len(v.items) - 1; n >= 0; n-- {
		if i := v.items[n]; i.Kind == Prompt && i.Lane == "" {
			return i.ID
		}
	}
	return ""
}

// Over reports whether the turn of a prompt has ended. It has if the session rests, or if the
// user has said something else since.
func (v *View) Over(id string) bool {
	return v.Prompted(id) && (!v.working || v.LastPrompt() != id)
}

// take takes in an entry.
func (v *View) take(e session.Followed) {
	v.at = e.After
	v.revision++
	changed := v.goBack(&e)
	changed = append(changed, v.change(&e)...)
	v.path.add(&e, len(v.items))
	for _, i := range changed {
		i.revision = v.revision
		v.turns[i.Turn].revision = v.revision
	}
	if n := len(v.turns); n > 0 {
		v.turns[n-1].revision = v.revision // its end and its cost
	}
}

// change folds an entry and returns the items that it made or changed.
func (v *View) change(e *session.Followed) []*Item {
	switch {
	case e.Message != nil:
		return v.message(e)
	case e.Call != nil:
		return v.step(e)
	case e.Ask != nil:
		return v.ask(e)
	case e.Answer != nil:
		return v.answered(e)
	case e.Checkpoint != nil:
		return v.checkpoint(e.Checkpoint)
	case e.State != nil:
		v.state(e.State)
	case e.Compaction != nil:
		return []*Item{v.add(e, Compaction, e.UUID, e.Compaction.Trigger, 0)}
	}
	return nil
}

// state takes in a fact about the session.
func (v *View) state(s *session.State) {
	text := ""
	_ = json.Unmarshal(s.Value, &text) // what is no string is no name
	switch s.Name {
	case "title":
		v.title = text
	case agent.StateMode:
		v.mode = text
	case agent.StateModel:
		v.model = text
	case StateSubmitted:
		v.submitted = s.Value
	case "todos":
		v.todos = nil
		if len(s.Value) < maxTodos && string(s.Value) != "null" {
			v.todos = s.Value
		}
	}
}

// StateSubmitted is the state that has what a client gave the session when it began.
const StateSubmitted = "submitted"

// Submitted is what a client gave the session when it began; nil if nothing.
func (v *View) Submitted() json.RawMessage { return v.submitted }

// What is kept of a text, in characters, and of to-dos in bytes.
const (
	maxText  = 240
	maxTodos = 16 << 10
)

// add makes an item.
func (v *View) add(e *session.Followed, kind Kind, id, text string, block int) *Item {
	i := &Item{Index: len(v.items), ID: id, Kind: kind, Lane: e.Agent, At: timeOf(e.Time), said: place{e.File, e.Offset, block, true}}
	i.Text, i.Cut = beginning(text)
	prompts := kind == Prompt && e.Agent == ""
	if n := len(v.turns); n == 0 || prompts && v.turns[n-1].prompted {
		v.turns = append(v.turns, Turn{Index: n, Item: i.Index, Start: i.At, End: i.At})
	}
	i.Turn = len(v.turns) - 1
	if t := &v.turns[i.Turn]; prompts {
		t.prompted = true
	}
	v.items = append(v.items, i)
	v.touch(e.Agent, e.Time, func(l *Lane) { l.Items++ })
	return i
}

// touch notes that something happened in a lane.
func (v *View) touch(lane string, at time.Time, change func(*Lane)) {
	n := slices.IndexFunc(v.lanes, func(l Lane) bool { return l.Agent == lane })
	if n < 0 {
		n = len(v.lanes)
		v.lanes = append(v.lanes, Lane{Agent: lane, First: timeOf(at)})
	}
	v.lanes[n].Last = max(v.lanes[n].Last, timeOf(at))
	change(&v.lanes[n])
	if n := len(v.turns); n > 0 {
		v.turns[n-1].End = max(v.turns[n-1].End, timeOf(at))
	}
}

// beginning is the first part of a text, in characters.
func beginning(text string) (string, bool) {
	if len(text) <= maxText {
		return strings.ToValidUTF8(text, "\ufffd"), false
	}
	n := 0
	for i := range text {
		if n == maxText {
			return strings.Clone(strings.ToValidUTF8(text[:i], "\ufffd")), true
		}
		n++
	}
	return strings.ToValidUTF8(text, "\ufffd"), false
}

// message takes in what was said.
func (v *View) message(e *session.Followed) (changed []*Item) {
	m := e.Message
	if m.Role == model.Assistant {
		v.spend(e)
	}
	for n, b := range m.Content {
		switch {
		case b.Type == model.ToolResult:
			if i := v.returned(e, &b, n); i != nil {
				changed = append(changed, i)
			}
		case b.Type == model.ToolUse:
			i := v.add(e, CallItem, b.ID, string(b.Input), n)
			i.Call = &Call{Tool: b.Name, State: Queued}
			v.calls[b.ID] = i
			v.turns[i.Turn].Calls++
			v.touch(e.Agent, e.Time, func(l *Lane) { l.Calls++ })
			changed = append(changed, i)
		default:
			if i := v.say(e, &b, n); i != nil {
				changed = append(changed, i)
			}
		}
	}
	return changed
}

// say takes in a text of a message.
func (v *View) say(e *session.Followed, b *model.Block, n int) *Item {
	kind, text := Text, b.Text
	switch m := e.Message; {
	case m.Error != "":
		kind = Error
	case b.Type == model.Thinking || b.Type == model.RedactedThinking:
		kind = Thinking
	case m.Role == model.User && (m.Synthetic || reminder(text)):
		kind = Note
	case m.Role == model.User:
		kind = Prompt
	}
	if text == "" && b.Type != model.Text {
		text = "[" + string(b.Type) + "]"
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	i := v.add(e, kind, e.UUID, text, n)
	if e.Agent == "" {
		switch kind {
		case Prompt:
			v.working, v.failed = true, false
			v.last = i.Text
		case Text:
			v.last = i.Text
		case Error:
			v.working, v.failed, v.last = false, true, i.Text
		}
	}
	return i
}

// reminder reports whether a text of a prompt is the harness's and not the user's.
func reminder(text string) bool { return strings.HasPrefix(text, "<system-reminder>") }

// spend counts what an answer has used so far.
func (v *View) spend(e *session.Followed) {
	m := e.Message
	if m.Error != "" {
		return
	}
	if e.Agent == "" {
		if m.Model != "" {
			v.model = m.Model
		}
		if m.StopReason != "" {
			v.working = m.StopReason == "tool_use"
		}
	}
	if len(v.turns) == 0 || m.ID == "" {
		return
	}
	was := v.spent[e.Agent]
	if was.id != m.ID {
		was = answer{id: m.ID}
	}
	t := &v.turns[len(v.turns)-1]
	cost, known := catalog.Lookup(m.Model).Cost(m.Usage)
	v.unpriced = v.unpriced || !known
	t.Cost += cost - was.cost
	t.Usage.Input += m.Usage.Input - was.usage.Input
	t.Usage.Output += m.Usage.Output - was.usage.Output
	t.Usage.CacheRead += m.Usage.CacheRead - was.usage.CacheRead
	t.Usage.CacheWrite += m.Usage.CacheWrite - was.usage.CacheWrite
	if e.Agent == "" {
		t.Model = m.Model
		t.Usage.Context = m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheWrite + m.Usage.Output
	}
	v.spent[e.Agent] = answer{m.ID, m.Usage, cost}
	v.touch(e.Agent, e.Time, func(*Lane) {})
}

// returned takes in the result of a call.
func (v *View) returned(e *session.Followed, b *model.Block, n int) *Item {
	i := v.calls[b.UseID]
	if i == nil {
		return nil
	}
	delete(v.calls, b.UseID)
	c := i.Call
	delete(v.asked, c.Question)
	c.Ended, c.State = timeOf(e.Time), Done
	if b.IsError {
		c.State = Failed
		v.turns[i.Turn].Failed++
	}
	if c.Verdict == tool.Deny.String() {
		c.State = Denied
	}
	if m := e.Message; m.Confined != nil {
		c.Confinement, c.Tier = string(m.Confined.To), m.Confined.Tier
	}
	c.Result, c.ResultCut = beginning(tool.JoinText(b.Content))
	i.result = place{e.File, e.Offset, n, true}
	v.touch(e.Agent, e.Time, func(*Lane) {})
	return i
}

// step takes in a verdict or a dispatch.
func (v *View) step(e *session.Followed) []*Item {
	s := e.Call
	i := v.calls[s.UseID]
	if i == nil {
		return nil
	}
	v.byID[s.ID] = i
	c := i.Call
	switch s.Step {
	case session.Judged:
		c.Judged, c.Verdict, c.Reason, c.Confinement = timeOf(e.Time), s.Behavior.String(), s.Reason, string(s.Confinement)
		delete(v.asked, c.Question)
		c.State = Queued
	case session.Dispatched:
		c.Started, c.State, c.Effect = timeOf(e.Time), Running, effects[s.Effect]
	}
	v.touch(e.Agent, e.Time, func(*Lane) {})
	return []*Item{i}
}

var effects = map[tool.Effect]string{tool.Unsafe: "unsafe", tool.Keyed: "keyed", tool.Idempotent: "idempotent", tool.Pure: "pure"}

// ask takes in that the user is asked.
func (v *View) ask(e *session.Followed) []*Item {
	i := v.calls[e.Ask.UseID]
	if i == nil && e.Ask.UseID == "" {
		i = &Item{Index: -1, ID: e.Ask.ID, Kind: CallItem, At: timeOf(e.Time), Call: &Call{Tool: e.Ask.Tool, State: Asked, Asked: timeOf(e.Time), Question: e.Ask.ID, Reason: e.Ask.Reason}}
		v.asked[e.Ask.ID], v.servers[e.Ask.ID] = i, i
		return nil
	}
	if i == nil {
		return nil
	}
	delete(v.asked, i.Call.Question)
	i.Call.Asked, i.Call.Question, i.Call.State, i.Call.Reason = timeOf(e.Time), e.Ask.ID, Asked, e.Ask.Reason
	v.asked[e.Ask.ID] = i
	return []*Item{i}
}

// answered takes in that a question is settled.
func (v *View) answered(e *session.Followed) []*Item {
	i := v.asked[e.Answer.ID]
	if i == nil {
		return nil
	}
	delete(v.asked, e.Answer.ID)
	i.Call.Answered, i.Call.By, i.Call.State = timeOf(e.Time), e.Answer.By, Queued
	if e.Answer.By != "" {
		i.Call.Verdict = e.Answer.Behavior.String()
	}
	if i.Index < 0 {
		i.Call.State = Done
		return nil
	}
	return []*Item{i}
}

// maxFiles is how many changed files of a call are named.
const maxFiles = 100

// checkpoint takes in that a call changed a file.
func (v *View) checkpoint(p *session.Checkpoint) []*Item {
	i := v.byID[p.CallID]
	if i == nil || slices.Contains(i.Call.Files, p.Path) || len(i.Call.Files) >= maxFiles {
		return nil
	}
	i.Call.Files = append(i.Call.Files, p.Path)
	return []*Item{i}
}

// goBack takes in that the conversation continues after an earlier message, and returns the
// items that were left or are part of it again.
func (v *View) goBack(e *session.Followed) (changed []*Item) {
	to := v.path.turnsBack(e)
	if to < 0 {
		return nil
	}
	kept := make([]bool, len(v.path.marks))
	for n := to; n >= 0; n = int(v.path.marks[n].before) {
		kept[n] = true
	}
	n := 0
	for _, i := range v.items {
		for n < len(kept) && i.Index >= int(v.path.marks[n].items) {
			n++
		}
		left := n == len(kept) || !kept[n]
		if left != i.Left {
			i.Left = left
			changed = append(changed, i)
		}
		if left && i.Call != nil {
			delete(v.asked, i.Call.Question)
		}
		if !left && i.Lane == "" && (i.Kind == Prompt || i.Kind == Text) {
			v.last = i.Text
		}
	}
	for n := range v.turns {
		t := &v.turns[n]
		if left := v.items[t.Item].Left; left != t.Left {
			t.Left, t.revision = left, v.revision
		}
	}
	v.path.tail, v.working, v.failed = to, false, false
	return changed
}

// A Fold is a view that grows with its session.
type Fold struct {
	*View
	follower *session.Follower
}

// Follow returns the view of the session in the file at path, of which nothing is read
// yet.
func Follow(path string) (*Fold, error) {
	f, err := session.Follow(path, "")
	if err != nil {
		return nil, err
	}
	return &Fold{newView(), f}, nil
}

// Next takes in some of what was appended, and reports whether there was something.
func (f *Fold) Next(ctx context.Context) (bool, error) {
	list, err := f.follower.Next(ctx)
	for _, e := range list {
		f.take(e)
	}
	return len(list) > 0, err
}

// Load folds all of a session that is on the disk.
func Load(ctx context.Context, path string) (*View, error) {
	f, err := Follow(path)
	if err != nil {
		return nil, err
	}
	for {
		if more, err := f.Next(ctx); err != nil || !more {
			return f.View, err
		}
	}
}
