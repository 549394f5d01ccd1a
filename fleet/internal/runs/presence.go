package runs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// presence is the subject at which the workers of a class say that they are there.
func (r *Runs) presence(class string) string { return r.Live("class-" + class) }

// Present lets others find out that a worker takes the runs of a class, until stop is called.
func (r *Runs) Present(class, worker string) (stop func(), err error) {
	sub, err := r.conn.NATS.Subscribe(r.presence(class), func(m *nats.Msg) { _ = m.Respond([]byte(worker)) })
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection may be gone
}

// presenceTime is how long a worker may take to say that it is there.
const presenceTime = 2 * time.Second

// noWorker reports whether it is certain that no worker takes the runs of a class.
func (r *Runs) noWorker(ctx context.Context, class string) bool {
	ctx, cancel := context.WithTimeout(ctx, presenceTime)
	defer cancel()
	_, err := r.conn.NATS.RequestWithContext(ctx, r.presence(class), nil)
	return errors.Is(err, nats.ErrNoResponders)
}

// waits begins the reason of a run that no worker can take.
const waits = "Waiting for a worker"

// noteWait says why a queued run waits, or that it does no longer. Absent are the classes without
// workers, as far as they are known.
func (r *Runs) noteWait(ctx context.Context, run *Run, absent map[string]bool) error {
	if time.Since(run.Updated) < presenceTime && run.Reason == "" {
		return nil
	}
	gone, known := absent[run.Class]
	if !known {
		gone = r.noWorker(ctx, run.Class)
		absent[run.Class] = gone
	}
	reason := ""
	if gone {
		reason = run.waitReason()
	}
	if reason == run.Reason || !gone && !strings.HasPrefix(run.Reason, waits) {
		return nil
	}
	_, err := r.Update(ctx, run.ID, func(now *Run) error {
		if now.revision != run.revision {
			return ErrUnchanged
		}
		now.Reason = reason
		return nil
	})
	return err
}
