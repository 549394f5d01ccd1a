package journal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/session"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A log is one conversation.
type log struct {
	logs               *Logs
	conn               *engine.Conn
	stream, subject    string
	witnesses, witness string // stream and subject

	mu     sync.Mutex
	end    session.Pos // of what this writer knows
	marked mark        // the witness, as far as this writer knows
}

// Headers of a message.
const (
	headAfter = "Haft-After" // number and hash of the entry before
	headPrev  = "Haft-Prev"
	headNonce = "Haft-Nonce" // tells two writers of the same bytes apart
	headTip   = "Haft-Tip"   // hash of this entry and all before it
)

// An entry is a message.
type entry struct {
	pos   session.Pos
	after session.Pos
	nonce string
	body  []byte
	at    time.Time // when the server had it; not known to who wrote it
}

// tip is the hash that the entry must have.
func (e *entry) tip() [16]byte {
	h := sha256.New()
	h.Write(e.after.Tip[:])
	h.Write([]byte(e.nonce))
	h.Write(e.body)
	return [16]byte(h.Sum(nil)[:16])
}

// largest is how much one message holds: less than what servers take by default.
const largest = 512 << 10

// Append implements [session.Log]. What was begun is finished even if ctx ends: the result
// of a call must not be lost because its turn was stopped.
func (g *log) Append(ctx context.Context, after session.Pos, lines []byte) (session.Pos, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for {
		n := min(largest, len(lines))
		e := &entry{after: after, nonce: rand.Text()[:12], body: lines[:n]}
		e.pos.Tip = e.tip()
		if err := g.publish(ctx, e); err != nil {
			return after, fmt.Errorf("write session: %w", err)
		}
		after = e.pos
		g.mu.Lock()
		g.end = after
		g.mu.Unlock()
		if lines = lines[n:]; len(lines) == 0 {
			return after, nil
		}
	}
}

// publish appends an entry. After an error nobody knows whether it is there, so the end of
// the journal is read: it is unchanged, or this entry, or another writer's.
func (g *log) publish(ctx context.Context, e *entry) error {
	m := nats.NewMsg(g.subject)
	m.Data = e.body
	m.Header.Set(headAfter, strconv.FormatUint(e.after.Seq, 10))
	m.Header.Set(headPrev, hex.EncodeToString(e.after.Tip[:]))
	m.Header.Set(headNonce, e.nonce)
	m.Header.Set(headTip, hex.EncodeToString(e.pos.Tip[:]))
	return engine.Try(ctx, func(attempt context.Context) (bool, error) {
		ack, err := g.conn.JS.PublishMsg(attempt, m, jetstream.WithExpectLastSequencePerSubject(e.after.Seq), jetstream.WithRetryAttempts(0))
		if err == nil {
			e.pos.Seq = ack.Sequence
			return false, nil
		}
		last, lookErr := g.last(ctx)
		if lookErr != nil {
			return false, errors.Join(err, lookErr)
		}
		at := session.Pos{}
		if last != nil {
			at = last.pos
		}
		switch {
		case at.Tip == e.pos.Tip:
			e.pos.Seq = at.Seq
			return false, nil
		case at.Seq == e.after.Seq:
			return true, err
		}
		return false, session.ErrFenced
	})
}

// Back implements [session.Log]. Each entry names the one before, and is checked against it.
func (g *log) Back(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range g.entries(ctx) {
			if err != nil {
				yield(nil, g.logs.report(err))
				return
			}
			if !yield(e.body, nil) {
				return
			}
		}
	}
}

// entries are those up to what this writer knows, the newest first.
func (g *log) entries(ctx context.Context) iter.Seq2[*entry, error] {
	g.mu.Lock()
	want := g.end
	g.mu.Unlock()
	return func(yield func(*entry, error) bool) {
		for want != (session.Pos{}) {
			e, err := g.at(ctx, want)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(e, nil) {
				return
			}
			want = e.after
		}
	}
}

// at returns the entry at a place, if it is what it was.
func (g *log) at(ctx context.Context, want session.Pos) (*entry, error) {
	var e *entry
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := g.conn.Stream(ctx, g.stream)
		if err != nil {
			return true, err
		}
		m, err := s.GetMsg(ctx, want.Seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, g.damaged("entry %d is missing", want.Seq)
		}
		if err != nil {
			return true, err
		}
		if m.Subject != g.subject {
			return false, g.damaged("entry %d belongs to another conversation", want.Seq)
		}
		e, err = decode(m)
		return false, err
	})
	switch {
	case err != nil:
		return nil, err
	case e.pos.Tip != want.Tip || e.tip() != want.Tip:
		return nil, g.damaged("entry %d has been changed", want.Seq)
	}
	return e, nil
}

func (g *log) damaged(format string, args ...any) error {
	return &DamagedError{ID: strings.Split(g.subject, ".")[3], Why: fmt.Sprintf(format, args...)}
}

func decode(m *jetstream.RawStreamMsg) (*entry, error) {
	e := &entry{pos: session.Pos{Seq: m.Sequence}, nonce: m.Header.Get(headNonce), body: m.Data, at: m.Time}
	var err error
	if e.after.Seq, err = strconv.ParseUint(m.Header.Get(headAfter), 10, 64); err == nil {
		err = errors.Join(readHash(&e.after.Tip, m.Header.Get(headPrev)), readHash(&e.pos.Tip, m.Header.Get(headTip)))
	}
	if err != nil {
		return nil, (&log{subject: m.Subject}).damaged("the headers of entry %d cannot be read: %v", m.Sequence, err)
	}
	return e, nil
}

func readHash(to *[16]byte, text string) error {
	raw, err := hex.DecodeString(text)
	if err == nil && len(raw) != len(to) {
		err = errors.New("a hash has the wrong length")
	}
	copy(to[:], raw)
	return err
}

// Close implements [session.Log].
func (g *log) Close() error { return g.Sync(context.Background()) }

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

// A mark is the witness of a journal: how far it is known to go. It is kept in another
// stream, so that what damages the one need not damage the other.
type mark struct {
	pos session.Pos
	seq uint64 // of the message that says so
}

// Sync implements [session.Log]. What was appended is on the disk already; the witness is
// told about it.
func (g *log) Sync(ctx context.Context) error {
	g.mu.Lock()
	end, known := g.end, g.marked
	g.mu.Unlock()
	if end == known.pos {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	text := fmt.Sprintf("%d %s", end.Seq, hex.EncodeToString(end.Tip[:]))
	err := engine.Try(ctx, func(attempt context.Context) (bool, error) {
		ack, err := g.conn.JS.Publish(attempt, g.witness, []byte(text), jetstream.WithExpectLastSequencePerSubject(known.seq), jetstream.WithRetryAttempts(0))
		if err == nil {
			known = mark{end, ack.Sequence}
			return false, nil
		}
		now, lookErr := g.seen(ctx)
		if lookErr != nil {
			return false, errors.Join(err, lookErr)
		}
		if known = now; now.pos.Seq >= end.Seq { // told, by this writer or a later one
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("sync session: %w", err)
	}
	g.mu.Lock()
	g.marked = known
	g.mu.Unlock()
	return nil
}

// seen returns the witness.
func (g *log) seen(ctx context.Context) (mark, error) {
	var w mark
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		s, err := g.conn.Stream(ctx, g.witnesses)
		if err != nil {
			return true, err
		}
		m, err := s.GetLastMsgForSubject(ctx, g.witness)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			w = mark{}
			return false, nil
		}
		if err != nil {
			return true, err
		}
		seq, tip, _ := strings.Cut(string(m.Data), " ")
		w.seq = m.Sequence
		if w.pos.Seq, err = strconv.ParseUint(seq, 10, 64); err == nil {
			err = readHash(&w.pos.Tip, tip)
		}
		if err != nil {
			return false, g.damaged("the record of its last entry cannot be read: %v", err)
		}
		return false, nil
	})
	return w, err
}
