package journal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/session"
)

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
