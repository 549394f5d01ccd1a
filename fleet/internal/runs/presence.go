package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// presence is the subject at which the workers of a class say that they are there.
func (r *Runs) presence(class string) string { return r.Live("class-" + class) }

// workers is the subject at which all workers say how they are.
func (r *Runs) workers() string { return r.Live("workers") }

// A WorkerStatus is how a worker is.
type WorkerStatus struct {
	Worker   string   `json:"worker"`
	Host     string   `json:"host"`
	Classes  []string `json:"classes"`
	Slots    int      `json:"slots"`
	Free     int      `json:"free"`
	Draining bool     `json:"draining,omitempty"`
}

// Present lets others find out that a worker takes the runs of some classes, and how it is, until stop is called. The
// tools of NATS show it as a service.
func (r *Runs) Present(classes []string, status func() *WorkerStatus) (stop func(), err error) {
	s, err := micro.AddService(r.conn.NATS, micro.Config{Name: "haft-worker", Version: "1.0.0", Metadata: map[string]string{"tenant": r.tenant, "worker": status().Worker}, QueueGroupDisabled: true})
	if err != nil {
		return nil, err
	}
	err = s.AddEndpoint("status", micro.HandlerFunc(func(q micro.Request) { _ = q.RespondJSON(status()) }), micro.WithEndpointSubject(r.workers())) // who has gone hears nothing
	for _, class := range classes {
		err = errors.Join(err, s.AddEndpoint("class-"+class, micro.HandlerFunc(func(q micro.Request) { _ = q.Respond([]byte(status().Worker)) }), micro.WithEndpointSubject(r.presence(class))))
	}
	stop = func() { _ = s.Stop() } // the connection may be gone
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// presenceTime is how long a worker may take to say that it is there, gatherTime how long all together may.
const (
	presenceTime = 2 * time.Second
	gatherTime   = 250 * time.Millisecond
)

// Workers returns how those workers are that answer at once.
func (r *Runs) Workers(ctx context.Context) (list []*WorkerStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	inbox := r.conn.NATS.NewInbox()
	sub, err := r.conn.NATS.SubscribeSync(inbox)
	if err == nil {
		defer sub.Unsubscribe()
		err = r.conn.NATS.PublishRequest(r.workers(), inbox, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("list workers: %w", err)
		}
		s := new(WorkerStatus)
		if json.Unmarshal(m.Data, s) == nil && s.Worker != "" {
			list = append(list, s)
		}
	}
}

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
