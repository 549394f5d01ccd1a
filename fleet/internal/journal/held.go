package journal

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/haftdev/haft/session"
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

// Hold opens the main conversation of a session.
func (l *Logs) Hold(ctx context.Context, id string) (*Held, error) {
	main, _, err := l.open(ctx, id, mainName)
	if err != nil {
		return nil, err
	}
	return &Held{l, id, main}, nil
}

// Main returns the held conversation and where it ends.
func (h *Held) Main() (session.Log, session.Pos) {
	h.main.mu.Lock()
	defer h.main.mu.Unlock()
	return h.main, h.main.end
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
