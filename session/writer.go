package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/text/rawname"
)

// A writer turns entries into lines, each after the one before.
type writer struct {
	session *Session
	agent   string
	tail    string
	made    []*line
}

func (w *writer) lines(e *Entry) ([]*line, error) {
	switch {
	case e.endsAnswer():
		return w.end(e)
	case e.Message != nil:
		l := w.next(e)
		lines := []*line{l}
		if w.agent == "" && e.Message.prompts() {
			lines = append(lines, &line{SessionID: w.session.id, Type: typeLastPrompt, LastPrompt: firstText(e.Message.Content), LeafUUID: l.UUID})
		}
		return lines, l.setMessage(e.Message)
	case e.Call != nil:
		return w.beside(e, typeCall, extra{Call: e.Call}), nil
	case e.State != nil:
		return w.state(e)
	case e.Checkpoint != nil:
		return w.beside(e, typeCheckpoint, extra{Checkpoint: e.Checkpoint.named(rawname.Encode)}), nil
	case e.Ask != nil:
		return w.beside(e, typeAsk, extra{Ask: e.Ask}), nil
	case e.Answer != nil:
		return w.beside(e, typeAnswer, extra{Answer: e.Answer}), nil
	case e.Back != nil:
		return w.back(e), nil
	case e.Compaction != nil:
		return w.compaction(e)
	}
	return nil, errors.New("write session: an entry without content")
}

// plain returns a line that is not part of the tree of messages.
func (w *writer) plain(e *Entry) *line {
	t := e.Time
	if t.IsZero() {
		t = time.Now()
	}
	return &line{SessionID: w.session.id, AgentID: w.agent, UUID: e.UUID, Timestamp: t.UTC().Format("2006-01-02T15:04:05.000Z")}
}

func (w *writer) beside(e *Entry, kind string, x extra) []*line {
	l := w.plain(e)
	l.Type, l.Haft = kind, &x
	return []*line{l}
}

// end writes how an answer ended whose blocks were written before, with its usage. It has
// the form of an answer, so that readers that add up tokens find it, but no UUID, so that
// it is not part of the conversation.
func (w *writer) end(e *Entry) ([]*line, error) {
	m := e.Message
	l := w.plain(e)
	l.UUID = ""
	w.mark(l)
	err := l.setMessage(m)
	l.said, l.Haft = nil, &extra{Stop: &stop{m.ID, m.Model, m.StopReason, m.Usage}}
	return []*line{l}, err
}

// next returns a line that follows the last message, and is now the last.
func (w *writer) next(e *Entry) *line {
	l := w.plain(e)
	if l.UUID == "" {
		l.UUID = NewUUID()
	}
	l.Parent = json.RawMessage("null")
	if w.tail != "" {
		l.Parent = plainjson.AppendString(nil, w.tail)
	}
	w.tail = l.UUID
	w.mark(l)
	return l
}

// mark says where the line was written.
func (w *writer) mark(l *line) {
	side, o := w.agent != "", w.session.origin
	l.IsSidechain, l.UserType = &side, "external"
	l.Cwd, l.Version, l.GitBranch = o.cwd, o.version, o.branch
}

// state writes a fact; a title is also written where the official tools look for it.
func (w *writer) state(e *Entry) ([]*line, error) {
	if !plainjson.Valid(e.State.Value) {
		return nil, fmt.Errorf("write session: state %s is not JSON", e.State.Name)
	}
	lines := w.beside(e, typeState, extra{State: e.State})
	var title string
	if e.State.Name == titleState && json.Unmarshal(e.State.Value, &title) == nil && title != "" {
		lines = append(lines, &line{SessionID: w.session.id, Type: "custom-title", CustomTitle: title})
	}
	return lines, nil
}

// back writes that the conversation continues after an earlier message. The next message
// follows that one and not this line, which official tools show as a remark; they look for
// the branch in the last prompt.
func (w *writer) back(e *Entry) []*line {
	tail := w.tail
	l := w.next(e)
	w.tail = tail
	l.Type, l.Subtype, l.Content, l.Haft = "system", "informational", "The conversation returned to an earlier message", &extra{Back: e.Back}
	lines := []*line{l}
	if e.Back.Prompt != "" {
		lines = append(lines, &line{SessionID: w.session.id, Type: typeLastPrompt, LastPrompt: e.Back.Prompt, LeafUUID: tail})
	}
	return lines
}

// compaction begins a new chain: the boundary with a snapshot of what is known,
// and then the messages that the conversation continues with.
func (w *writer) compaction(e *Entry) ([]*line, error) {
	c := e.Compaction
	before := w.tail
	w.tail = ""
	boundary := w.next(e)
	boundary.Type, boundary.Subtype, boundary.Content = "system", "compact_boundary", "Conversation compacted"
	boundary.LogicalParent = before
	boundary.Compact = &compactMeta{c.Trigger, c.PreTokens}
	known := w.session.tally.snapshot()
	known.Parts = len(c.Messages)
	boundary.Haft = &extra{Snapshot: known}
	lines := []*line{boundary}
	for _, m := range c.Messages {
		l := w.next(&Entry{Time: e.Time})
		if err := l.setMessage(&Message{Role: m.Role, Content: m.Content}); err != nil {
			return nil, err
		}
		l.IsSummary, l.Haft = true, &extra{SummaryOf: boundary.UUID}
		lines = append(lines, l)
	}
	return lines, nil
}
