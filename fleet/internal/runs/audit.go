package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// A Deed is something that a user did. It is written before it is done, so a deed that failed is there, too.
type Deed struct {
	At   time.Time `json:"at"`
	What string    `json:"what"` // such as submit, answer or cancel
	Run  string    `json:"run,omitempty"`
	By   string    `json:"by,omitempty"` // the user, as far as the program knows
	// Key is the key that the program had.
	Key    string `json:"key,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// As returns the runs as a user who may change them: what they do is noted under this name.
func (r *Runs) As(user string) *Runs { return &Runs{conn: r.conn, tenant: r.tenant, user: user} }

// note writes down what is about to be done. Name tells a deed that is tried again from another one; "" is always a new
// one. A server of the previous version keeps nothing of it.
func (r *Runs) note(ctx context.Context, name, what, run, detail string) error {
	raw, err := json.Marshal(Deed{At: time.Now().UTC(), What: what, Run: run, By: r.user, Key: r.conn.Key, Detail: detail})
	if err != nil {
		return err
	}
	options := []jetstream.PublishOpt{jetstream.WithRetryAttempts(0)}
	if name != "" {
		options = append(options, jetstream.WithMsgID(what+" "+name))
	}
	err = engine.Try(ctx, func(ctx context.Context) (bool, error) {
		_, err := r.conn.JS.Publish(ctx, "audit."+r.tenant+"."+what, raw, options...)
		if errors.Is(err, jetstream.ErrNoStreamResponse) && r.unaudited(ctx) {
			return false, nil
		}
		return !engine.NoRoom(err), err
	})
	if err != nil {
		return fmt.Errorf("note who did it: %w", err)
	}
	return nil
}

// Note writes down something that is about to be done to a run besides what [Runs] do themselves.
func (r *Runs) Note(ctx context.Context, what, run, detail string) error {
	return r.note(ctx, "", what, run, detail)
}

// unaudited reports whether the server is there and keeps nothing of what users do.
func (r *Runs) unaudited(ctx context.Context) bool {
	_, err := r.conn.JS.Stream(ctx, engine.Audit)
	return errors.Is(err, jetstream.ErrStreamNotFound)
}

// Audit calls each with what users did since a time, the oldest first, until it returns false.
func (r *Runs) Audit(ctx context.Context, since time.Time, each func(*Deed) bool) error {
	s, err := r.conn.Stream(ctx, engine.Audit)
	if err != nil {
		return fmt.Errorf("read who did what: %w", err)
	}
	info, err := s.Info(ctx)
	if err != nil {
		return fmt.Errorf("read who did what: %w", err)
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"audit." + r.tenant + ".>"}, DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since})
	if err != nil {
		return fmt.Errorf("read who did what: %w", err)
	}
	for {
		batch, err := c.FetchNoWait(256)
		if err != nil {
			return fmt.Errorf("read who did what: %w", err)
		}
		got := false
		for m := range batch.Messages() {
			got = true
			meta, err := m.Metadata()
			if err != nil {
				return fmt.Errorf("read who did what: %w", err)
			}
			d := new(Deed)
			if err := json.Unmarshal(m.Data(), d); err != nil {
				return fmt.Errorf("read who did what: entry %d: %w", meta.Sequence.Stream, err)
			}
			if d.At = meta.Timestamp; !each(d) || meta.Sequence.Stream >= info.State.LastSeq {
				return nil
			}
		}
		if err := batch.Error(); err != nil {
			return fmt.Errorf("read who did what: %w", err)
		}
		if !got {
			return nil
		}
	}
}
