package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/model"
)

// CreateOptions say how a session begins.
type CreateOptions struct {
	// ID names it, a UUID; "" chooses one.
	ID string
	// Cwd is the working directory, by which the session is found again; "" means the
	// process's.
	Cwd string
	// Version and GitBranch are recorded for readers; "" leaves them out.
	Version, GitBranch string
}

// Create begins a session. The first Append creates its file.
func (st *Store) Create(ctx context.Context, opts *CreateOptions) (*Session, error) {
	var o CreateOptions
	if opts != nil {
		o = *opts
	}
	if o.ID == "" {
		o.ID = NewUUID()
	}
	if !isUUID(o.ID) {
		return nil, fmt.Errorf("create session: the id %q is not a UUID", o.ID)
	}
	cwd, err := directory(o.Cwd)
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	where := origin{cwd, o.Version, o.GitBranch}
	if st.logs != nil {
		s, err := st.fromLogs(ctx, o.ID, where)
		if err == nil && s.streams[""].pos != (Pos{}) {
			err = errInUse
		}
		if err != nil {
			return nil, fmt.Errorf("create session %s: %w", o.ID, err)
		}
		return s, nil
	}
	path := filepath.Join(st.project(cwd), o.ID+".jsonl")
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("create session %s: %w", o.ID, errInUse)
	}
	return newSession(path, where, true), nil
}

func directory(cwd string) (string, error) {
	if cwd == "" {
		return os.Getwd()
	}
	return filepath.Abs(cwd)
}

func newSession(path string, o origin, fresh bool) *Session {
	return &Session{
		id: idOf(path), path: path, dir: dirOf(path), origin: o,
		restored: newRestored(),
		blobs:    blobsIn(filepath.Dir(path)),
		streams:  map[string]*stream{"": {log: &journal{path: path, fresh: fresh}}},
		uses:     map[string]pendingCall{},
	}
}

// fromLogs opens the log of a session's main conversation.
func (st *Store) fromLogs(ctx context.Context, id string, o origin) (*Session, error) {
	log, pos, err := st.logs.Open(ctx, id, "")
	if err != nil {
		return nil, err
	}
	return &Session{
		id: id, dir: st.sessionDir(o.cwd, id), logs: st.logs, origin: o,
		restored: newRestored(),
		blobs:    &blobs{Store: st.logs.Blobs()},
		streams:  map[string]*stream{"": {log: log, pos: pos}},
		uses:     map[string]pendingCall{},
	}, nil
}

// sessionDir is the folder of what belongs to a session in logs.
func (st *Store) sessionDir(cwd, id string) string { return filepath.Join(st.project(cwd), id) }

// ResumeOptions say how a session continues.
type ResumeOptions struct {
	// At is the UUID of the message to continue after; "" means the last one.
	At string
	// Drops is the UUID of a prompt: with At, only the turn of this prompt may be left out; if
	// more would be, the error is [ErrDrops]. "" means that anything may be left out.
	Drops string
	// Fork leaves the session as it is and continues in a new one, named by NewID; ""
	// chooses a name.
	Fork  bool
	NewID string
	// Cwd is the working directory from now on; "" means the old one. A fork is found
	// there.
	Cwd string
	// Version and GitBranch are as in [CreateOptions].
	Version, GitBranch string
}

// Resume continues a session. The beginning of the id is enough, as for [Store.Find]. The error is
// an [InUseError] if another program is writing to it.
func (st *Store) Resume(ctx context.Context, id string, opts *ResumeOptions) (*Session, error) {
	var o ResumeOptions
	if opts != nil {
		o = *opts
	}
	if st.logs != nil {
		s, err := st.resumeLogs(ctx, id, &o)
		if err != nil {
			return nil, fmt.Errorf("resume session %s: %w", id, err)
		}
		return s, nil
	}
	path, err := st.Find(id)
	if err != nil {
		return nil, err
	}
	if err := checkDrops(ctx, path, &o); err != nil {
		return nil, fmt.Errorf("resume session %s: %w", idOf(path), err)
	}
	if o.Fork {
		return st.resumeFork(ctx, path, &o)
	}
	held, err := acquire(ctx, dirOf(path), idOf(path))
	if err != nil {
		return nil, err
	}
	s, err := resume(ctx, path, &o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("resume session %s: %w", idOf(path), err), held.release())
	}
	s.lock, s.restored.Waited = held, held.waited
	return s, nil
}

func resume(ctx context.Context, path string, o *ResumeOptions) (*Session, error) {
	if o.At != "" {
		r, err := read(ctx, path, "", o.At)
		if err != nil {
			return nil, err
		}
		return r.session(ctx, path, o)
	}
	r, err := readOn(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return r.session(ctx, path, o)
}

// session returns what was read as a session that continues in the file at path.
func (r *reading) session(ctx context.Context, path string, o *ResumeOptions) (*Session, error) {
	s := newSession(path, r.origin(o), false)
	return s, r.restore(ctx, s, o)
}

// origin is where a session that continues is.
func (r *reading) origin(o *ResumeOptions) origin {
	where := origin{o.Cwd, o.Version, o.GitBranch}
	if where.cwd == "" {
		where.cwd = r.cwd()
	}
	return where
}

// restore makes a session what was read.
func (r *reading) restore(ctx context.Context, s *Session, o *ResumeOptions) error {
	main := s.streams[""]
	main.torn, main.tail = r.torn, r.last()
	if !o.Fork { // what a fork leaves out is not its cost
		r.countAll()
	}
	s.tally = r.tally
	r.restoreBlobs(ctx, s.blobs)
	messages, lost := fold(r.chain, r.beside, r.calls)
	if r.prefix != nil {
		r.prefix.messages(s.restored.History)
	}
	if err := s.restored.History.Append(messages...); err != nil {
		return err
	}
	s.restored.take(r)
	s.repairs = r.revert()
	if o.At != "" && !o.Fork {
		s.back = r.behind()
	}
	for _, u := range lost {
		s.restored.Lost = append(s.restored.Lost, u.call)
		s.repairs = append(s.repairs, s.repair(&u, r.calls[u.block.ID]))
	}
	if r.lost = len(lost); s.path != "" && o.At == "" && !o.Fork {
		s.prefix = r.keepPrefix(s.path, messages)
	}
	return nil
}

// behind returns how the session is kept at the end of the chain, if messages were written
// after it; nil if it is the end of the journal.
func (r *reading) behind() *Entry {
	if len(r.chain) == 0 {
		return nil
	}
	end := r.chain[len(r.chain)-1].end
	if !slices.ContainsFunc(r.beside, func(l *line) bool { return l.end > end }) {
		return nil
	}
	back := &Back{}
	for _, l := range slices.Backward(r.chain) {
		if m, err := l.message(); err == nil && m.prompts() {
			back.Prompt = firstText(m.Content)
			break
		}
	}
	return &Entry{Back: back}
}

// restoreBlobs puts the long strings of the conversation back.
func (r *reading) restoreBlobs(ctx context.Context, b *blobs) {
	for _, l := range r.chain {
		b.restore(ctx, l)
	}
}

// keepPrefix keeps what was read for the next resume, if that was much.
func (r *reading) keepPrefix(path string, messages []model.Message) *prefix {
	journal, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer journal.Close()
	return r.extend(path, journal, messages)
}

// take fills in what was read in addition to the messages.
func (to *Restored) take(r *reading) {
	known := r.tally.snapshot()
	to.Last, to.Messages, to.Usage, to.Title = r.lastMessage(), known.Messages, known.Usage, known.Title
	to.Model, to.Cwd, to.Damaged = r.tally.model, r.cwd(), r.damage
	if known.States != nil {
		to.States = known.States
	}
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

// revert returns entries that reset the states to what they were at the last message, if
// others were written after it.
func (r *reading) revert() (entries []Entry) {
	for name, now := range r.all.states {
		then := r.tally.states[name]
		if bytes.Equal(now, then) {
			continue
		}
		if then == nil {
			then = json.RawMessage("null")
		}
		entries = append(entries, Entry{State: &State{name, then}})
	}
	return entries
}

// lastMessage returns the UUID of what was said last, "" if there is nothing.
func (r *reading) lastMessage() string {
	for i := len(r.chain) - 1; i >= 0; i-- {
		if !r.chain[i].isLink() {
			return r.chain[i].UUID
		}
	}
	return r.last()
}

// last returns the UUID of the line that the next message follows, "" if there is none. It
// is never one that says that the conversation went back: its message is followed.
func (r *reading) last() string {
	for _, l := range slices.Backward(r.chain) {
		if l.extra().Back == nil {
			return l.UUID
		}
	}
	if r.prefix != nil {
		return r.prefix.index.Last
	}
	return ""
}

func (r *reading) cwd() string {
	for i := len(r.chain) - 1; i >= 0; i-- {
		if r.chain[i].Cwd != "" {
			return r.chain[i].Cwd
		}
	}
	if r.prefix != nil {
		return r.prefix.index.Cwd
	}
	return ""
}

// Fork copies the conversation of a session, up to a message if at is not "", into a new
// session and returns its id.
func (st *Store) Fork(ctx context.Context, id, at string) (newID string, err error) {
	s, err := st.Resume(ctx, id, &ResumeOptions{At: at, Fork: true})
	if err != nil {
		return "", err
	}
	return s.ID(), s.Close()
}

func (st *Store) resumeFork(ctx context.Context, path string, o *ResumeOptions) (*Session, error) {
	if o.NewID == "" {
		o.NewID = NewUUID()
	}
	if !isUUID(o.NewID) {
		return nil, fmt.Errorf("fork session: the id %q is not a UUID", o.NewID)
	}
	if err := quiet(ctx, dirOf(path)); err != nil {
		return nil, fmt.Errorf("fork session %s: %w", idOf(path), err)
	}
	r, err := read(ctx, path, "", o.At)
	if err != nil {
		return nil, fmt.Errorf("fork session %s: %w", idOf(path), err)
	}
	project := filepath.Dir(path)
	if o.Cwd != "" {
		project = st.project(o.Cwd)
	}
	target := filepath.Join(project, o.NewID+".jsonl")
	held, err := acquire(ctx, dirOf(target), o.NewID)
	if err != nil {
		return nil, err
	}
	if err := r.copyTo(ctx, path, target); err != nil {
		return nil, errors.Join(fmt.Errorf("fork session %s: %w", idOf(path), err), held.release())
	}
	r.torn = false
	s, err := r.session(ctx, target, o)
	if err != nil {
		return nil, errors.Join(err, held.release())
	}
	s.lock = held
	return s, nil
}

// quiet waits for the commands of a process that is gone, for a caller that leaves the
// session as it is and continues elsewhere. If the commands never end, that is still
// possible, so it is not an error.
func quiet(ctx context.Context, dir string) error {
	host, _ := os.Hostname()
	if !gone(dir, host) {
		return nil
	}
	f, _, err := hold(ctx, dir, holdTime)
	if errors.Is(err, errHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(unhold(f), f.Close())
}

// copyTo writes the lines of the conversation as those of another session. Each keeps its
// UUID and records where it is from.
func (r *reading) copyTo(ctx context.Context, path, target string) error {
	from, to := blobsIn(filepath.Dir(path)), blobsIn(filepath.Dir(target))
	j := &stream{log: &journal{path: target, fresh: true}}
	for _, l := range r.lines {
		fork := *l
		if from.dir != to.dir {
			from.restore(ctx, &fork)
		}
		raw, err := fork.forked(ctx, idOf(path), idOf(target), to)
		if err == nil {
			err = j.write(ctx, raw)
		}
		if err != nil {
			return errors.Join(err, j.close())
		}
	}
	return j.close()
}

// forked encodes a line of one session as one of another.
func (l *line) forked(ctx context.Context, from, to string, b *blobs) ([]byte, error) {
	l.ForkedFrom, _ = plainjson.Marshal(map[string]string{"sessionId": from, "messageUuid": l.UUID})
	l.SessionID = to
	if l.raw != nil { // a link of the official tools: the rest of it stays unchanged
		var members map[string]json.RawMessage
		if err := json.Unmarshal(l.raw, &members); err != nil {
			return nil, err
		}
		members["forkedFrom"] = l.ForkedFrom
		members["sessionId"], _ = plainjson.Marshal(to)
		raw, err := plainjson.Marshal(members)
		return append(raw, '\n'), err
	}
	raw, err := b.appendLine(ctx, nil, l)
	return append(raw, '\n'), err
}
