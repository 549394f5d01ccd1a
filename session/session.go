package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
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

// Hold returns a file for a process that starts others for the session and may outlive this
// one. As long as that process has it open, a resume waits. The caller closes its own copy.
// Hold returns nil if nothing has to wait: the session is not stored, has not begun, or
// files cannot be locked here.
func (s *Session) Hold() (*os.File, error) {
	if s.silent() {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil || s.closed {
		return nil, nil
	}
	return share(s.lock.hold)
}

// sealPrefix records the state of the files after the last write. It first reads what a
// long session has added, so that the next resume does not have to.
func (s *Session) sealPrefix(ctx context.Context) error {
	file, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	p := s.prefix
	covered := int64(0)
	if p != nil {
		covered = p.index.Size
	}
	grown := info.Size() - covered
	if grown >= prefixStep && grown <= prefixMost {
		r, err := readOn(ctx, s.path, p)
		if err != nil {
			return err
		}
		r.restoreBlobs(ctx, s.blobs)
		messages, lost := fold(r.chain, r.beside, r.calls)
		r.lost = len(lost)
		p = r.extend(s.path, file, messages)
	}
	if p == nil || !seals() {
		return nil
	}
	now, err := stampsOf(file, p.dir)
	if err != nil {
		return fmt.Errorf("seal session: %w", err)
	}
	quiet := time.Until(time.Unix(0, max(now.Journal.MTime, now.Text.MTime, now.Table.MTime)).Add(prefixQuiet))
	time.Sleep(min(quiet, prefixQuiet)) // files are from the future if the clock was set back
	p.index.Sealed = &now
	return p.index.save(p.dir)
}

// Record implements [sched.Recorder]. A call with effects is on the disk before it runs,
// and its result is before the model sees it. The steps of a call without effects are
// written with its result, or after a tenth of a second: if they are lost, the call can be
// repeated.
func (s *Session) Record(ctx context.Context, r sched.Record) error {
	if s.silent() {
		return nil
	}
	switch r.Step {
	case sched.Finished:
		return s.finished(ctx, r.Outcome)
	case sched.Dispatched:
		return s.dispatched(ctx, r)
	}
	c := s.callOf(r, Judged)
	c.Behavior, c.Reason, c.Unasked = r.Verdict.Behavior, r.Verdict.Reason, r.Verdict.Unasked
	c.Approved, c.Confinement = r.Verdict.Approved, r.Verdict.Confinement
	if c.Unasked {
		c.Remedy = r.Verdict.Remedy()
	}
	e := Entry{Agent: r.Call.Agent, Call: &c}
	if c.Behavior == tool.Allow && !r.Waits && c.Approved == "" {
		return s.AppendSoon(e) // its dispatch follows; what a user approved is written at once
	}
	return s.Append(ctx, e)
}

func (s *Session) dispatched(ctx context.Context, r sched.Record) error {
	c := s.callOf(r, Dispatched)
	s.mu.Lock()
	defer s.mu.Unlock()
	if use := s.uses[c.UseID]; !plainjson.Same(use.input, r.Call.Input) {
		c.Input = r.Call.Input
	}
	if err := c.check(); err != nil {
		return err
	}
	s.uses[c.UseID] = pendingCall{pure: c.Effect == tool.Pure}
	entries := []Entry{{Agent: r.Call.Agent, Call: &c}}
	if c.Effect == tool.Pure {
		return s.holdShortly(ctx, entries)
	}
	if err := s.appendLocked(ctx, entries); err != nil {
		return err
	}
	return s.streams[r.Call.Agent].log.Sync(ctx)
}

func (s *Session) callOf(r sched.Record, step Step) Call {
	return Call{Step: step, ID: r.Call.ID, UseID: r.Call.UseID, Tool: r.Call.Tool, Effect: r.Marks.Effect}
}

func (s *Session) finished(ctx context.Context, out *sched.Outcome) error {
	e := Entry{
		UUID:  ResultUUID(s.id, out.CallID),
		Agent: out.Agent,
		Message: &Message{
			Role:    model.User,
			Content: []model.Block{ResultBlock(out)},
			Output:  typedOutput(out), Confined: confined(out.Result.Output),
		},
	}
	if out.Status == sched.Denied {
		e.Message.Denied = &Denied{Reason: out.Verdict.Reason, Rule: out.Verdict.Rule}
	}
	s.mu.Lock()
	pure := s.uses[out.UseID].pure
	delete(s.uses, out.UseID)
	err := s.appendLocked(ctx, []Entry{e})
	st := s.streams[out.Agent]
	if err == nil && pure {
		st.syncSoon() // with the lock, so that the log is not closed in between
	}
	s.mu.Unlock()
	if err != nil || pure {
		return err
	}
	return st.log.Sync(ctx)
}

// repair is the result of a lost call, which is written to the journal before anything
// else.
func (s *Session) repair(u *use, steps []Call) Entry {
	text := fate(u.block.Name, steps)
	output, _ := plainjson.Marshal("Error: " + text) // a string is always encodable
	callID := u.call.ID
	if callID == "" {
		callID = u.line.UUID + u.block.ID
	}
	blocks := results([]*use{u}, map[string][]Call{u.block.ID: steps})
	return Entry{UUID: ResultUUID(s.id, callID), Message: &Message{Role: model.User, Content: blocks, Output: output}}
}

// stream returns the log of an agent, which is opened on first use.
func (s *Session) stream(ctx context.Context, agent string) (*stream, error) {
	if st := s.streams[agent]; st != nil {
		return st, nil
	}
	st := &stream{}
	if s.logs == nil {
		st.log = &journal{path: filepath.Join(s.Dir(), "subagents", "agent-"+fileName(agent)+".jsonl")}
	} else {
		var err error
		if st.log, st.pos, err = s.logs.Open(ctx, s.id, fileName(agent)); err != nil {
			return nil, fmt.Errorf("open session: %w", err)
		}
	}
	s.streams[agent] = st
	return st, nil
}

// DescribeAgent records what a sub-agent is for, if the session is in files.
func (s *Session) DescribeAgent(agent string, m AgentMeta) error {
	if s.silent() || s.logs != nil {
		return nil
	}
	path := filepath.Join(s.Dir(), "subagents", "agent-"+fileName(agent)+".meta.json")
	raw, err := plainjson.Marshal(m)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = replace(path, raw)
	}
	if err != nil {
		return fmt.Errorf("could not save the description of agent %s: %w", agent, err)
	}
	return nil
}

// Agent returns the journal of a sub-agent's conversation, which entries of that agent
// continue from then on. It is called before the first of them. The error is an
// [io/fs.ErrNotExist] if the sub-agent has no journal.
func (s *Session) Agent(ctx context.Context, agent string) (*Restored, error) {
	if s.silent() {
		return newRestored(), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.stream(ctx, agent)
	if err != nil {
		return nil, fmt.Errorf("resume agent %s: %w", agent, err)
	}
	r, err := st.read(ctx, agent, "")
	if err != nil {
		return nil, fmt.Errorf("resume agent %s: %w", agent, err)
	}
	st.torn, st.tail = r.torn, r.last()
	to := newRestored()
	for _, l := range r.chain {
		s.blobs.restore(ctx, l)
	}
	messages, lost := fold(r.chain, r.beside, r.calls)
	if err := to.History.Append(messages...); err != nil {
		return nil, fmt.Errorf("resume agent %s: %w", agent, err)
	}
	to.take(r)
	for _, u := range lost {
		to.Lost = append(to.Lost, u.call)
		repair := s.repair(&u, r.calls[u.block.ID])
		repair.Agent = agent
		s.repairs = append(s.repairs, repair)
	}
	return to, nil
}

// Rest syncs and closes the log of a sub-agent that has nothing to write for now. The next
// entry opens it again.
func (s *Session) Rest(agent string) error {
	if s.silent() || agent == "" {
		return nil
	}
	s.mu.Lock()
	var err error
	if slices.ContainsFunc(s.held, func(e Entry) bool { return e.Agent == agent }) {
		if err = s.writable(context.Background()); err == nil {
			err = s.writeGroup(context.Background(), agent, nil) // later it would open the log again
		}
	}
	st := s.streams[agent]
	s.mu.Unlock()
	if st == nil {
		return err
	}
	return errors.Join(err, st.close())
}
