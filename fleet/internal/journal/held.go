package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// Held are the journals of a tenant, one of which was opened already: that of a session whose
// state was looked at. What another writer appends from then on makes the first append of
// this one fail, so that nothing is decided by what is no longer so.
type Held struct {
	*Logs
	id   string
	main *log
}

var _ session.Logs = (*Held)(nil)

// Main returns the held conversation and where it ends.
func (h *Held) Main() (session.Log, session.Pos) {
	h.main.mu.Lock()
	defer h.main.mu.Unlock()
	return h.main, h.main.end
}

// Check looks whether the held conversation ends where this writer left it. The error is
// [session.ErrFenced] if another writer has continued it.
func (h *Held) Check(ctx context.Context) error {
	_, end := h.Main()
	last, err := h.main.last(ctx)
	if err != nil {
		return h.report(err)
	}
	at := session.Pos{}
	if last != nil {
		at = last.pos
	}
	if at != end {
		return session.ErrFenced
	}
	return nil
}

// Open implements [session.Logs].
func (h *Held) Open(ctx context.Context, id, agent string) (session.Log, session.Pos, error) {
	if id == h.id && agent == "" {
		main, end := h.Main()
		return main, end, nil
	}
	return h.Logs.Open(ctx, id, agent)
}

// Find returns the last of some texts that the held conversation has, -1 if it has none. Only
// entries since some time are looked at, and those of a little before: the clocks of servers
// differ.
func (h *Held) Find(ctx context.Context, since time.Time, texts []string) (int, error) {
	since = since.Add(-time.Minute)
	for e, err := range h.main.entries(ctx) {
		if err != nil {
			return -1, h.report(err)
		}
		if e.at.Before(since) {
			break
		}
		for i, text := range slices.Backward(texts) {
			if bytes.Contains(e.body, []byte(text)) {
				return i, nil
			}
		}
	}
	return -1, nil
}

// Unstored returns the last call with effects whose result is in the held conversation, if no state
// of a name comes right before it; "" if there is none. Who stores something before each result
// finds out by it what is missing.
func (h *Held) Unstored(ctx context.Context, state string) (call string, err error) {
	results := map[string]bool{} // that come after the last state
	stored := ""                 // the call that the state is of
	found := false
	for chunk, err := range h.main.Back(ctx) {
		if err != nil {
			return "", h.report(err)
		}
		for _, raw := range slices.Backward(bytes.Split(chunk, []byte{'\n'})) {
			var l journalLine
			if len(raw) == 0 || json.Unmarshal(raw, &l) != nil {
				continue
			}
			switch s, c := l.Haft.State, l.Haft.Call; {
			case s != nil && s.Name == state && !found:
				found, stored = true, s.Value.Call
				delete(results, stored)
			case c != nil && c.Step == session.Dispatched && results[c.UseID]:
				if delete(results, c.UseID); c.Effect != tool.Pure {
					return c.UseID, nil
				}
			case !found:
				for _, id := range l.results() {
					results[id] = true
				}
			}
		}
		if found && len(results) == 0 {
			return "", nil
		}
	}
	return "", nil
}

// journalLine is what [Held.Unstored] looks for in a line.
type journalLine struct {
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Haft struct {
		Call  *session.Call `json:"call"`
		State *struct {
			Name  string `json:"name"`
			Value struct {
				Call string `json:"call"`
			} `json:"value"`
		} `json:"state"`
	} `json:"haft"`
}

// results are the calls whose results a line has.
func (l *journalLine) results() (ids []string) {
	var blocks []struct {
		UseID string `json:"tool_use_id"`
	}
	_ = json.Unmarshal(l.Message.Content, &blocks) // a text has none
	for _, b := range blocks {
		if b.UseID != "" {
			ids = append(ids, b.UseID)
		}
	}
	return ids
}
