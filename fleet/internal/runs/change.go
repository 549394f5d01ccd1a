package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// Control is the subject on which the leader of a run hears that it was cancelled.
func (r *Runs) Control(id string) string { return "ctl." + r.tenant + "." + id }

// Cancel ends a run: its turn is stopped, and what waits is not run.
func (r *Runs) Cancel(ctx context.Context, id string) error {
	if err := r.note(ctx, "", "cancel", id, ""); err != nil {
		return fmt.Errorf("could not cancel run %s: %w", id, err)
	}
	if _, err := r.Update(ctx, id, func(run *Run) error {
		if run.State == Archived {
			return fmt.Errorf("cannot cancel run %s: it is archived", id)
		}
		run.State, run.Owner, run.Reason = Cancelled, "", "cancelled"
		return nil
	}); err != nil {
		return err
	}
	pending, err := r.Pending(ctx, id)
	for _, p := range pending {
		err = errors.Join(err, r.Settle(ctx, id, p.UUID, &Outcome{IsError: true, Reason: "cancelled", Text: "The run was cancelled."}))
	}
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	return errors.Join(err, r.conn.NATS.Publish(r.Control(id), []byte("cancel")), r.conn.NATS.FlushWithContext(ctx))
}

// Retry lets workers take a run again that was put aside, failed or was cancelled.
func (r *Runs) Retry(ctx context.Context, id string) error {
	if err := r.note(ctx, "", "retry", id, ""); err != nil {
		return fmt.Errorf("could not retry run %s: %w", id, err)
	}
	run, err := r.Update(ctx, id, func(run *Run) error {
		switch run.State {
		case Quarantined, Failed, Cancelled:
		default:
			return fmt.Errorf("cannot retry run %s: it is %s", id, run.State)
		}
		run.State, run.Reason, run.Attempts, run.Taken, run.Postponed = Queued, "", 0, 0, 0
		return nil
	})
	if err != nil {
		return err
	}
	return r.Wake(ctx, run)
}

// Rest notes that a run has nothing to do, which its worker should have done. It does nothing
// if the run has changed since it was read.
func (r *Runs) Rest(ctx context.Context, run *Run) error {
	_, err := r.Update(ctx, run.ID, func(now *Run) error {
		// One that is queued may be about to get its prompt.
		waits := now.State == Queued && time.Since(now.Updated) > promptTime
		if now.revision != run.revision || !leads(now.State) && !waits {
			return ErrUnchanged
		}
		now.State, now.Owner, now.Attempts, now.Taken = Idle, "", 0, 0
		return nil
	})
	return err
}

// promptTime is how long a run may be queued before its prompt is there.
const promptTime = time.Minute

// waiting tells which runs have prompts without outcomes.
func (r *Runs) waiting(ctx context.Context) (map[string]bool, error) {
	attempt, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	ids := map[string]bool{}
	for n := range uint32(engine.Shards) {
		if err := r.waitingIn(attempt, n, ids); err != nil {
			return nil, fmt.Errorf("list prompts: %w", err)
		}
	}
	return ids, nil
}

// waitingIn adds those of a shard.
func (r *Runs) waitingIn(ctx context.Context, shard uint32, ids map[string]bool) error {
	s, err := r.conn.Stream(ctx, engine.Sessions(shard))
	if err != nil {
		return err
	}
	done, err := s.Info(ctx, jetstream.WithSubjectFilter(shardSubject("r", shard, r.tenant, "*", "*")))
	if err != nil {
		return err
	}
	sent, err := s.Info(ctx, jetstream.WithSubjectFilter(shardSubject("p", shard, r.tenant, "*", "*")))
	if err != nil {
		return err
	}
	for subject := range sent.State.Subjects {
		if _, ok := done.State.Subjects["r"+subject[1:]]; !ok {
			ids[strings.Split(subject, ".")[3]] = true
		}
	}
	return nil
}
