package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/fleet/internal/archive"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
	"github.com/nats-io/nats.go/jetstream"
)

// Logs are the journals of a tenant.
type Logs struct {
	conn    *engine.Conn
	tenant  string
	damaged func(*DamagedError)
}

var _ session.Logs = (*Logs)(nil)

// New returns the journals of a tenant, whose name is one word. Damage that shows while a
// journal is read is also reported to damaged, unless it is nil.
func New(conn *engine.Conn, tenant string, damaged func(*DamagedError)) *Logs {
	if damaged == nil {
		damaged = func(*DamagedError) {}
	}
	return &Logs{conn, tenant, damaged}
}

// mainName is how the main conversation is called among those of agents, which begin with
// agentPrefix.
const (
	mainName    = "main"
	agentPrefix = "a-"
)

// Open implements [session.Logs]. The error is a [DamagedError] if the end of the journal
// is not there any more.
func (l *Logs) Open(ctx context.Context, id, agent string) (session.Log, session.Pos, error) {
	name := mainName
	if agent != "" {
		name = agentPrefix + agent
	}
	return l.open(ctx, id, name)
}

func (l *Logs) open(ctx context.Context, id, name string) (*log, session.Pos, error) {
	g := &log{logs: l, conn: l.conn, stream: engine.Journals(engine.ShardOf(id)), subject: l.subject("j", id, name), witness: l.subject("w", id, name), witnesses: engine.Sessions(engine.ShardOf(id))}
	var last *entry
	seen, err := g.seen(ctx) // before the journal, which may grow meanwhile
	if err == nil {
		last, err = g.last(ctx)
	}
	if err != nil {
		return nil, session.Pos{}, fmt.Errorf("read the journal: %w", l.report(err))
	}
	end := session.Pos{}
	if last != nil {
		end = last.pos
	}
	if seen.pos.Seq > end.Seq || seen.pos.Seq == end.Seq && seen.pos.Tip != end.Tip {
		return nil, end, l.report(&DamagedError{ID: id, Why: fmt.Sprintf("it should reach entry %d but ends at %d", seen.pos.Seq, end.Seq)})
	}
	g.end, g.marked = end, seen
	return g, end, nil
}

func (l *Logs) report(err error) error {
	var damage *DamagedError
	if errors.As(err, &damage) {
		l.damaged(damage)
	}
	return err
}

// subject is that of a kind of messages about a conversation.
func (l *Logs) subject(kind, id, name string) string {
	return fmt.Sprintf("%s.%d.%s.%s.%s", kind, engine.ShardOf(id), l.tenant, id, name)
}

// Blobs implements [session.Logs].
func (l *Logs) Blobs() session.Blobs { return &blobs{l.conn, l.tenant, ""} }

// Files is the store of the files of a run: what it stores is noted as the run's, so that
// [Logs.Collect] finds it when the run is gone. No two runs may store the same content.
func (l *Logs) Files(run string) blob.Store { return &blobs{l.conn, l.tenant, run} }

// Collect removes the stored files of runs that are gone, unless a journal refers to them: those of
// a run that was forked are needed by the fork. A run is gone for good before gone says so, and who
// copies entries of one looks at it again afterwards; so what the journals do not have by now, none
// will have. On an error, what remains is removed by a later call.
func (l *Logs) Collect(ctx context.Context, gone func(run string) (bool, error)) (Freed, error) {
	var freed Freed
	unneeded, err := l.filesOf(ctx, gone)
	if err == nil && len(unneeded) > 0 {
		err = l.keepReferenced(ctx, unneeded)
	}
	if err != nil {
		return freed, fmt.Errorf("find unused files: %w", err)
	}
	for digest, size := range unneeded {
		if err := (&blobs{l.conn, l.tenant, ""}).remove(ctx, digest); err != nil {
			return freed, fmt.Errorf("remove unused files: %w", err)
		}
		freed.Objects++
		freed.Bytes += size
	}
	return freed, nil
}

// listTime is how long the list of all that is stored may take.
const listTime = 5 * time.Minute

// filesOf returns the digests and sizes of what runs have stored that are gone.
func (l *Logs) filesOf(ctx context.Context, gone func(run string) (bool, error)) (map[string]uint64, error) {
	var list []*jetstream.ObjectInfo
	listing, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	err := engine.Try(listing, func(attempt context.Context) (bool, error) {
		store, err := l.conn.Objects(attempt)
		if err == nil {
			list, err = store.List(listing) // which takes longer than one request
		}
		if errors.Is(err, jetstream.ErrNoObjectsFound) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	digests, known := map[string]uint64{}, map[string]bool{}
	for _, info := range list {
		run, digest := info.Metadata[runKey], strings.TrimPrefix(info.Name, l.tenant+"/")
		if run == "" || digest == info.Name {
			continue
		}
		is, asked := known[run]
		if !asked {
			if is, err = gone(run); err != nil {
				return nil, err
			}
			known[run] = is
		}
		if is {
			digests[digest] = info.Size
		}
	}
	return digests, nil
}

// settleTime is how long the journals may take to be quiet for a moment, once they were read.
const settleTime = 30 * time.Second

// keepReferenced takes what any journal refers to out of digests.
//
// A fork that is made while the journals are read may be written where they were read already, and the
// journal that it was made from deleted before it is read. So what was written since is read, until
// nothing was: then all that is there was read. Journals that are never quiet keep everything.
func (l *Logs) keepReferenced(ctx context.Context, digests map[string]uint64) error {
	s := newScan(l, digests)
	_, err := s.pass(ctx)
	for end := time.Now().Add(settleTime); err == nil; {
		grew, failed := s.pass(ctx)
		switch {
		case failed != nil || !grew:
			return failed
		case time.Now().After(end):
			err = fmt.Errorf("the journals kept changing for %s", settleTime)
		}
	}
	return err
}

// Events returns what the main conversation of a session has after an event, up to now; ""
// means from the beginning.
func (l *Logs) Events(ctx context.Context, id, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var seq uint64
		var offset int
		if after != "" {
			if n, err := fmt.Sscanf(after, "%d.%d", &seq, &offset); n != 2 || err != nil || offset < 0 {
				yield(Event{}, fmt.Errorf("%q is not the id of an event", after))
				return
			}
		}
		list, err := l.since(ctx, id, seq)
		if err != nil {
			yield(Event{}, err)
			return
		}
		var line []byte // a long one is in several messages
		for _, e := range list {
			rest, at := e.body, 0
			if e.pos.Seq == seq {
				at = min(offset, len(rest))
				rest = rest[at:]
			}
			for len(rest) > 0 {
				end := bytes.IndexByte(rest, '\n')
				if end < 0 {
					line = append(line, rest...)
					break
				}
				line, rest, at = append(line, rest[:end]...), rest[end+1:], at+end+1
				if len(line) > 0 && !yield(Event{fmt.Sprintf("%d.%d", e.pos.Seq, at), line}, nil) {
					return
				}
				line = nil
			}
		}
	}
}

// since returns the entries of a session from a number on, the oldest first.
func (l *Logs) since(ctx context.Context, id string, seq uint64) ([]*entry, error) {
	g, _, err := l.open(ctx, id, mainName)
	if err != nil {
		return nil, err
	}
	var list []*entry
	for e, err := range g.entries(ctx) {
		if err != nil {
			return nil, l.report(err)
		}
		if e.pos.Seq < seq {
			break
		}
		list = append(list, e)
	}
	slices.Reverse(list)
	return list, nil
}

// Hold opens the main conversation of a session.
func (l *Logs) Hold(ctx context.Context, id string) (*Held, error) {
	main, _, err := l.open(ctx, id, mainName)
	if err != nil {
		return nil, err
	}
	return &Held{l, id, main}, nil
}

// LastState returns the last state of a name that a conversation has; nil if it has none.
func (l *Logs) LastState(ctx context.Context, id, name string) (json.RawMessage, error) {
	log, _, err := l.open(ctx, id, mainName)
	if err != nil {
		return nil, err
	}
	for chunk, err := range log.Back(ctx) {
		if err != nil {
			return nil, err
		}
		for _, raw := range slices.Backward(bytes.Split(chunk, []byte{'\n'})) {
			var l struct {
				Haft struct{ State *session.State }
			}
			if len(raw) > 0 && json.Unmarshal(raw, &l) == nil && l.Haft.State != nil && l.Haft.State.Name == name {
				return l.Haft.State.Value, nil
			}
		}
	}
	return nil, nil
}

// Mirror returns a mirror in a folder.
func (l *Logs) Mirror(dir string) *Mirror {
	return &Mirror{logs: l, dir: dir, copies: map[string]*progress{}}
}

// after returns the first entry of any conversation of a session from a number on, nil if
// there is none.
func (l *Logs) after(ctx context.Context, id string, seq uint64) (e *entry, subject string, err error) {
	return l.next(ctx, engine.ShardOf(id), seq, l.subject("j", id, "*"))
}

// next returns the first entry of some subjects from a number on, nil if there is none.
func (l *Logs) next(ctx context.Context, shard uint32, seq uint64, subjects string) (e *entry, subject string, err error) {
	err = engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := l.conn.Stream(ctx, engine.Journals(shard))
		if err != nil {
			return true, err
		}
		m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subjects))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		subject = m.Subject
		e, err = decode(m)
		return false, err
	})
	return e, subject, err
}

// Text returns a whole conversation, checked entry by entry; agent "" is the main one.
func (l *Logs) Text(ctx context.Context, id, agent string) ([]byte, error) {
	log, _, err := l.Open(ctx, id, agent)
	if err != nil {
		return nil, err
	}
	var pieces [][]byte
	for p, err := range log.Back(ctx) {
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, p)
	}
	slices.Reverse(pieces)
	return bytes.Join(pieces, nil), nil
}

// Seal writes a session into a store, in the layout of haft's own sessions, and returns where the
// main conversation is and its SHA-256. The journal stays until [Logs.Purge].
func (l *Logs) Seal(ctx context.Context, id string, to archive.Store) (location, digest string, err error) {
	agents, err := l.agents(ctx, id)
	if err != nil {
		return "", "", fmt.Errorf("could not archive session %s: %w", id, err)
	}
	// The main conversation comes last: where it is, the others are.
	for _, agent := range append(agents, "") {
		text, err := l.Text(ctx, id, agent)
		if err == nil {
			err = l.keepBlobs(ctx, text, to)
		}
		if err == nil {
			location, err = to.Put(ctx, sealedName(id, agent), text)
		}
		if err != nil {
			return "", "", fmt.Errorf("could not archive session %s: %w", id, err)
		}
		sum := sha256.Sum256(text)
		digest = hex.EncodeToString(sum[:])
	}
	return location, digest, nil
}

// sealedName is where a conversation is in a store.
func sealedName(id, agent string) string {
	if agent == "" {
		return id + ".jsonl"
	}
	return id + "/subagents/agent-" + agent + ".jsonl"
}

// agents are those of a session that have conversations of their own.
func (l *Logs) agents(ctx context.Context, id string) (names []string, err error) {
	all, err := l.conversations(ctx, id)
	for _, conversation := range all {
		if name, ok := strings.CutPrefix(conversation, agentPrefix); ok {
			names = append(names, name)
		}
	}
	return names, err
}

// conversations are the names of those that a session has.
func (l *Logs) conversations(ctx context.Context, id string) (names []string, err error) {
	s, err := l.conn.Stream(ctx, engine.Journals(engine.ShardOf(id)))
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(l.subject("j", id, "*")))
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		names = append(names, subject[strings.LastIndexByte(subject, '.')+1:])
	}
	return names, nil
}

// keepBlobs copies the contents that lines refer to.
func (l *Logs) keepBlobs(ctx context.Context, text []byte, to archive.Store) error {
	for line := range bytes.Lines(text) {
		var refs struct {
			Haft struct {
				Blobs []string `json:"blobs"`
			} `json:"haft"`
		}
		if json.Unmarshal(line, &refs) != nil {
			continue // what a crash has left of a line
		}
		for _, digest := range refs.Haft.Blobs {
			content, err := l.Blobs().Get(ctx, digest)
			if err == nil {
				_, err = to.Put(ctx, "haft-blobs/"+digest[:2]+"/"+digest[2:], content)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Purge deletes the journal of a session that was sealed. Its main conversation, which the store has
// under a name, must have the digest, and the store must have all that the journal has: what was
// written since is not lost.
func (l *Logs) Purge(ctx context.Context, id string, from archive.Store, name, digest string) error {
	text, err := from.Get(ctx, name)
	if err != nil {
		return fmt.Errorf("could not check the archived session: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("cannot delete the journal of session %s: %s in the archive differs from what was written", id, name)
	}
	names, err := l.conversations(ctx, id)
	if err != nil {
		return fmt.Errorf("could not check the archived session: %w", err)
	}
	for _, conversation := range names {
		agent := strings.TrimPrefix(conversation, agentPrefix)
		if conversation == mainName {
			agent = ""
		}
		sealed, err := from.Get(ctx, sealedName(id, agent))
		if err != nil {
			return fmt.Errorf("could not check the archived session: %w", err)
		}
		text, err := l.Text(ctx, id, agent)
		if err != nil {
			return fmt.Errorf("could not check the archived session: %w", err)
		}
		if !bytes.Equal(sealed, text) {
			return fmt.Errorf("cannot delete the journal of session %s: %s in the archive differs from the journal", id, sealedName(id, agent))
		}
	}
	return l.Delete(ctx, id)
}

// Delete deletes the journal of a session for good. What was begun is finished even if ctx ends. The
// witnesses come first: without them, what is left of a journal can be read and deleted.
func (l *Logs) Delete(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	shard := engine.ShardOf(id)
	for _, part := range [][2]string{{engine.Sessions(shard), l.subject("w", id, "*")}, {engine.Journals(shard), l.subject("j", id, "*")}} {
		err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
			s, err := l.conn.Stream(ctx, part[0])
			if err == nil {
				err = s.Purge(ctx, jetstream.WithPurgeSubject(part[1]))
			}
			return true, err
		})
		if err != nil {
			return fmt.Errorf("could not delete the journal of session %s: %w", id, err)
		}
	}
	return nil
}

// A DamagedError says that entries which were acknowledged are gone or changed.
type DamagedError struct{ ID, Why string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the journal of session %s is damaged: %s", e.ID, e.Why)
}

// patience is how long an append is tried: longer than a cluster takes to choose a leader.
const patience = time.Minute
