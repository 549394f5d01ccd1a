package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/session"
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
func (l *Logs) Blobs() blob.Store { return &blobs{l.conn, l.tenant, ""} }

// A DamagedError says that entries which were acknowledged are gone or changed.
type DamagedError struct{ ID, Why string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the journal of session %s is damaged: %s", e.ID, e.Why)
}

// patience is how long an append is tried: longer than a cluster takes to choose a leader.
const patience = time.Minute

// last returns the last entry, nil if there is none.
func (g *log) last(ctx context.Context) (*entry, error) {
	var e *entry
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := g.conn.Stream(ctx, g.stream)
		if err != nil {
			return true, err
		}
		m, err := s.GetLastMsgForSubject(ctx, g.subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			e = nil
			return false, nil
		}
		if err != nil {
			return true, err
		}
		e, err = decode(m)
		return false, err
	})
	return e, err
}
