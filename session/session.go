package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/model"
)

// A Session is a conversation that is being recorded. A nil Session, and one from [Memory],
// store nothing and never fail.
type Session struct {
	id       string
	path     string // of the main conversation's file; "" if it is in logs
	dir      string // of what belongs to the session
	logs     Logs   // nil if it is in files
	memory   bool
	origin   origin
	restored *Restored
	blobs    *blobs

	mu      sync.Mutex
	lock    *lock
	streams map[string]*stream // by agent
	tally   tally
	repairs []Entry                // written before the next entry
	held    []Entry                // written with the next entry; see AppendSoon
	back    *Entry                 // says that it went back; nil if it did not
	uses    map[string]pendingCall // by tool_use id
	flushes bool                   // what is held is about to be written
	out     []byte                 // what is being written, kept for the next time
	closed  bool
	fenced  error   // set once another writer has continued the session
	rest    *rest   // nil while the session is worked on
	prefix  *prefix // what is kept of the journal's beginning, nil if nothing is
}

// origin is what every line says about where it was written.
type origin struct{ cwd, version, branch string }

// A pendingCall is a tool_use that has no result yet.
type pendingCall struct {
	input json.RawMessage
	pure  bool // it runs and has no effect
}

// errClosed is what appending to a closed session fails with.
var errClosed = errors.New("the session is closed")

// Memory returns a session that is not stored.
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

// Path returns the file of the main conversation, "" if it is not in a file.
func (s *Session) Path() string {
	if s == nil {
		return ""
	}
	return s.path
}

// Dir returns the folder for other files of the session, "" if it has none. It may not
// exist yet.
func (s *Session) Dir() string {
	if s.silent() {
		return ""
	}
	return s.dir
}

// Blobs returns the store of contents that the journal refers to by digest.
func (s *Session) Blobs() Blobs {
	if s.silent() {
		return nil
	}
	return s.blobs.Store
}

// Restored returns what the journal said when it was opened. It is never nil.
func (s *Session) Restored() *Restored {
	if s == nil {
		return newRestored()
	}
	return s.restored
}

func (s *Session) silent() bool { return s == nil || s.memory }

// Append writes entries in order, after those written before. An entry without a UUID or a
// time is given one. When Append returns, the operating system has the entries, so they
// survive the end of this process; after [Session.Sync] they survive a power cut. The end of
// an answer whose calls still run may follow a tenth of a second later, with their results.
// Once Append fails with [ErrFenced], it always will.
func (s *Session) Append(ctx context.Context, entries ...Entry) error {
	if s.silent() || len(entries) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(entries) == 1 && entries[0].endsAnswer() && len(s.uses) > 0 {
		return s.holdShortly(ctx, entries) // results are about to follow
	}
	return s.appendLocked(ctx, entries)
}

// KeepPlace records that a session that was resumed at an earlier message continues there, so
// that the next resume does too, even if no message follows.
func (s *Session) KeepPlace(ctx context.Context) error {
	if s.silent() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back == nil {
		return nil
	}
	err := s.appendLocked(ctx, []Entry{*s.back})
	if err == nil {
		s.back = nil
	}
	return err
}

func (s *Session) appendLocked(ctx context.Context, entries []Entry) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	defer s.unlock()
	_ = s.writeWaiting(ctx, entries) // what fails keeps waiting; these entries do not need it
	for len(entries) > 0 && s.fenced == nil {
		n := 1
		for n < len(entries) && entries[n].Agent == entries[0].Agent {
			n++
		}
		if err := s.writeGroup(ctx, entries[0].Agent, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return s.fenced
}

func (s *Session) writable(ctx context.Context) error {
	if s.closed {
		return errClosed
	}
	if s.fenced != nil {
		return s.fenced
	}
	return s.claim(ctx)
}

// writeWaiting writes the entries that wait for another, except those of the agents whose
// entries follow.
func (s *Session) writeWaiting(ctx context.Context, follow []Entry) error {
	var err error
	alone := func(e Entry) bool {
		return !slices.ContainsFunc(follow, func(f Entry) bool { return f.Agent == e.Agent })
	}
	if !slices.ContainsFunc(s.repairs, alone) && !slices.ContainsFunc(s.held, alone) {
		return nil
	}
	tried := map[string]bool{}
	for _, e := range slices.Concat(s.repairs, s.held) {
		if !tried[e.Agent] && alone(e) {
			tried[e.Agent] = true
			err = errors.Join(err, s.writeGroup(ctx, e.Agent, nil))
		}
	}
	return err
}

// writeGroup writes what waits for an agent and then entries of it, in one step if it can: a
// compaction says what is known, and so begins a step in which all before it is.
func (s *Session) writeGroup(ctx context.Context, agent string, entries []Entry) error {
	if s.simple(agent, entries) {
		if err := s.write(ctx, agent, append(s.held, entries...)); err != nil {
			return err
		}
		clear(s.held)
		s.held = s.held[:0]
		return nil
	}
	group := entries
	if len(s.repairs)+len(s.held) > 0 {
		others := func(e Entry) bool { return e.Agent != agent }
		group = append(slices.DeleteFunc(slices.Concat(s.repairs, s.held), others), entries...)
	}
	for len(group) > 0 {
		n := 1
		for n < len(group) && group[n].Compaction == nil {
			n++
		}
		if err := s.write(ctx, agent, group[:n]); err != nil {
			return err
		}
		group = group[n:]
		written := func(e Entry) bool {
			if e.Agent != agent || n == 0 {
				return false
			}
			n--
			return true
		}
		s.repairs = slices.DeleteFunc(s.repairs, written)
		s.held = slices.DeleteFunc(s.held, written)
	}
	return nil
}

// simple reports whether all that waits is of the agent, and can be written in one step with entries.
func (s *Session) simple(agent string, entries []Entry) bool {
	compacts := func(e Entry) bool { return e.Compaction != nil }
	return len(s.repairs) == 0 && !slices.ContainsFunc(s.held, func(e Entry) bool { return e.Agent != agent || compacts(e) }) && !slices.ContainsFunc(entries, compacts)
}

// AppendSoon adds entries that mean nothing without the entries that follow at once, such as
// the verdict on a call without its dispatch. They are written with the next entry, in one
// step, and have the time at which they were added. Sync and Close write them if none comes.
// After an error they are not added.
func (s *Session) AppendSoon(entries ...Entry) error {
	if s.silent() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if s.fenced != nil {
		return s.fenced
	}
	for i := range entries {
		if c := entries[i].Call; c != nil {
			if err := c.check(); err != nil {
				return err
			}
			continue
		}
		w := writer{session: s, agent: entries[i].Agent}
		if _, err := w.lines(&entries[i]); err != nil {
			return err // later it would fail the entries that it is written with
		}
	}
	return s.hold(context.Background(), entries)
}

// hold keeps entries to be written with the next one.
func (s *Session) hold(ctx context.Context, entries []Entry) error {
	if len(s.held)+len(entries) > maxHeld {
		return s.appendLocked(ctx, entries)
	}
	now := time.Now()
	for _, e := range entries {
		if e.Time.IsZero() {
			e.Time = now
		}
		s.held = append(s.held, e)
	}
	return nil
}

// holdShortly is hold for what means something by itself: it is written within syncDelay. A log that is not in a file
// must say at once whether another writer has continued the session.
func (s *Session) holdShortly(ctx context.Context, entries []Entry) error {
	if s.logs != nil {
		return s.appendLocked(ctx, entries)
	}
	if err := s.writable(ctx); err != nil {
		return err
	}
	if err := s.hold(ctx, entries); err != nil {
		return err
	}
	if !s.flushes {
		s.flushes = true
		time.AfterFunc(syncDelay, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.flushes = false
			_ = s.flush(context.Background()) // what fails keeps waiting, and fails what follows
		})
	}
	return nil
}

// maxHeld bounds the entries that wait for another.
const maxHeld = 64

// flush writes the entries that wait for another, if any were added.
func (s *Session) flush(ctx context.Context) error {
	if len(s.held) == 0 || s.closed {
		return nil
	}
	if err := s.writable(ctx); err != nil {
		return err
	}
	defer s.unlock()
	return s.writeWaiting(ctx, nil)
}

// claim locks a new session; a resumed one is locked already. Logs have a fence and no
// lock.
func (s *Session) claim(ctx context.Context) (err error) {
	switch {
	case s.logs != nil || s.lock != nil:
		return nil
	case s.rest != nil:
		return s.relock(ctx, acquireSoon)
	}
	s.lock, err = acquire(ctx, s.Dir(), s.id)
	return err
}

// write adds entries of one agent to its log.
func (s *Session) write(ctx context.Context, agent string, entries []Entry) error {
	st, err := s.stream(ctx, agent)
	if err != nil {
		return err
	}
	w := writer{session: s, agent: agent, tail: st.tail}
	out := s.out[:0]
	for i := range entries {
		lines, err := w.lines(&entries[i])
		if err != nil {
			return err
		}
		for _, l := range lines {
			if out, err = s.blobs.appendLine(ctx, out, l); err != nil {
				return err
			}
			out = append(out, '\n')
		}
		w.made = append(w.made, lines...)
	}
	if s.logs == nil && cap(out) <= maxKeptOut { // a log that is not a file may keep it
		s.out = out
	}
	if err := st.write(ctx, out); err != nil {
		if errors.Is(err, ErrFenced) {
			s.fenced = err
		}
		return err
	}
	st.tail = w.tail
	for _, l := range w.made {
		s.note(agent, l)
	}
	return nil
}

// maxKeptOut bounds what a session that writes nothing keeps.
const maxKeptOut = 16 << 10

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

// Sync returns when everything that was appended is on the disk.
func (s *Session) Sync() error {
	if s.silent() {
		return nil
	}
	s.mu.Lock()
	err := s.flush(context.Background())
	streams := make([]*stream, 0, len(s.streams))
	for _, st := range s.streams {
		streams = append(streams, st)
	}
	s.mu.Unlock()
	for _, st := range streams {
		err = errors.Join(err, st.log.Sync(context.Background()))
	}
	return err
}

// Close syncs and releases the session. Appending afterwards fails.
func (s *Session) Close() error {
	if s.silent() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	err := s.flush(context.Background())
	if s.rest != nil && s.fenced == nil {
		_ = s.relock(context.Background(), acquire) // if another process has it, nothing is left to do
	}
	s.closed = true
	for _, st := range s.streams {
		err = errors.Join(err, st.close())
	}
	if main, ok := s.streams[""].log.(*journal); ok && s.lock != nil && (s.prefix != nil || main.size >= prefixStep) {
		if s.sealPrefix(context.Background()) != nil {
			dropPrefix(s.Dir()) // the journal has everything
		}
	}
	return errors.Join(err, s.lock.release())
}
