package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/model"
)

// A Session is a conversation that is being written down. A nil Session, and one
// of [Memory], keep nothing and never fail.
type Session struct {
	id, path string
	memory   bool
	origin   origin
	restored *Restored
	blobs    *blobs

	mu      sync.Mutex
	lock    *lock
	streams map[string]*stream // by agent
	tally   tally
	repairs []Entry                // written before the next entry
	uses    map[string]pendingCall // by tool_use id
	closed  bool
	prefix  *prefix // what is kept of the journal's beginning, nil if nothing is
}

// origin is what every line says about where it was written.
type origin struct{ cwd, version, branch string }

// A stream is the file of one agent's conversation.
type stream struct {
	*journal
	tail string // the last message, "" if there is none
}

// A pendingCall is a tool_use that has no result yet.
type pendingCall struct {
	input json.RawMessage
	pure  bool // it runs and has no effect
}

// errClosed is what appending to a closed session fails with.
var errClosed = errors.New("the session is closed")

// Memory returns a session that is not written down.
func Memory(id string) *Session {
	if id == "" {
		id = NewUUID()
	}
	return &Session{id: id, memory: true, restored: newRestored()}
}

// ID returns the session's name, a UUID.
func (s *Session) ID() string {
	if s == nil {
		return ""
	}
	return s.id
}

// Path returns the file of the main conversation, "" if there is none.
func (s *Session) Path() string {
	if s == nil {
		return ""
	}
	return s.path
}

// Dir returns the folder of what belongs to the session, "" if it has none. It
// may not exist yet.
func (s *Session) Dir() string {
	if s.silent() {
		return ""
	}
	return dirOf(s.path)
}

// Blobs returns the store of contents that the journal refers to by digest.
func (s *Session) Blobs() blob.Store {
	if s.silent() {
		return nil
	}
	return s.blobs
}

// Restored returns what the journal said when it was opened. It is never nil.
func (s *Session) Restored() *Restored {
	if s == nil {
		return newRestored()
	}
	return s.restored
}

func (s *Session) silent() bool { return s == nil || s.memory }

// Append writes entries in order. They follow what was written before; an entry
// without a UUID or a time is given one. It returns when the operating system has
// them, which outlives this process; [Session.Sync] outlives the machine.
func (s *Session) Append(ctx context.Context, entries ...Entry) error {
	if s.silent() || len(entries) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appendLocked(ctx, entries)
}

func (s *Session) appendLocked(ctx context.Context, entries []Entry) error {
	if s.closed {
		return errClosed
	}
	if err := s.claim(ctx); err != nil {
		return err
	}
	if len(s.repairs) > 0 {
		entries = append(slices.Clip(s.repairs), entries...)
	}
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].Agent == entries[0].Agent {
			n++
		}
		if err := s.write(ctx, entries[0].Agent, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	s.repairs = nil
	return nil
}

// claim locks a new session; one that was resumed is locked already.
func (s *Session) claim(ctx context.Context) (err error) {
	if s.lock == nil {
		s.lock, err = acquire(ctx, s.Dir(), s.id)
	}
	return err
}

// write adds entries of one agent to its file.
func (s *Session) write(ctx context.Context, agent string, entries []Entry) error {
	st := s.stream(agent)
	w := writer{session: s, agent: agent, tail: st.tail}
	var out bytes.Buffer
	for i := range entries {
		lines, err := w.lines(&entries[i])
		if err != nil {
			return err
		}
		for _, l := range lines {
			raw, err := s.blobs.shorten(ctx, l)
			if err != nil {
				return err
			}
			out.Write(raw)
			out.WriteByte('\n')
		}
		w.made = append(w.made, lines...)
	}
	if err := st.write(out.Bytes()); err != nil {
		return err
	}
	st.tail = w.tail
	for _, l := range w.made {
		s.note(agent, l)
	}
	return nil
}

// note remembers what later entries need to know.
func (s *Session) note(agent string, l *line) {
	if agent == "" {
		s.tally.add(l)
	}
	if l.said == nil {
		return
	}
	for _, b := range l.said.Content {
		if b.Type == model.ToolUse {
			s.uses[b.ID] = pendingCall{input: b.Input}
		}
	}
}

// stream returns the file of an agent.
func (s *Session) stream(agent string) *stream {
	st := s.streams[agent]
	if st == nil {
		path := filepath.Join(s.Dir(), "subagents", "agent-"+fileName(agent)+".jsonl")
		st = &stream{journal: &journal{path: path}}
		s.streams[agent] = st
	}
	return st
}

// fileName keeps an agent's name from leaving its folder.
func fileName(agent string) string {
	return string(bytes.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r == '-', r == '_':
			return r
		}
		return '_'
	}, []byte(agent)))
}

// Sync returns when everything that was appended is on the disk.
func (s *Session) Sync() error {
	if s.silent() {
		return nil
	}
	s.mu.Lock()
	streams := make([]*stream, 0, len(s.streams))
	for _, st := range s.streams {
		streams = append(streams, st)
	}
	s.mu.Unlock()
	var err error
	for _, st := range streams {
		err = errors.Join(err, st.sync())
	}
	return err
}

// Close syncs and gives the session back. Appending after it fails.
func (s *Session) Close() error {
	if s.silent() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	for _, st := range s.streams {
		err = errors.Join(err, st.close())
	}
	if main := s.streams[""]; main != nil && (s.prefix != nil || main.size >= prefixStep) {
		if s.sealPrefix(context.Background()) != nil {
			dropPrefix(s.Dir()) // the journal has everything
		}
	}
	return errors.Join(err, s.lock.release())
}
