package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// Drops is the subject on which the leader of a run is asked to cancel one prompt. It is not
// that of [Runs.Control], on which a worker of an older version would end the whole run.
func (r *Runs) Drops(id string) string { return "ctl." + r.tenant + "." + id + ".drop" }

// Dropped is the reply of a leader that has cancelled a prompt. Others say why it could not.
const Dropped = "dropped"

// ErrNoLeader is the error of a prompt whose run a worker leads that does not answer.
var ErrNoLeader = errors.New("the run's worker does not answer")

// Drop cancels one prompt: it is not run if it waits, and its turn is stopped if it runs. Other
// prompts of the run are left alone.
//
// That the prompt is unwanted is noted with the run first, where each worker that takes it sees
// it. So nobody begins with the prompt after it got its outcome here.
func (r *Runs) Drop(ctx context.Context, id, prompt string) error {
	run, err := r.Update(ctx, id, func(run *Run) error {
		if !run.Open() || slices.Contains(run.Unwanted, prompt) {
			return ErrUnchanged
		}
		run.Unwanted = append(run.Unwanted, prompt)
		return nil
	})
	if err != nil {
		return fmt.Errorf("could not cancel the prompt: %w", err)
	}
	if run.Owner != "" {
		return r.askLeader(ctx, id, prompt)
	}
	if err := r.Settle(ctx, id, prompt, DroppedOutcome()); err != nil {
		return fmt.Errorf("could not cancel the prompt: %w", err)
	}
	left, err := r.Pending(ctx, id)
	if err != nil || len(left) > 0 {
		return err
	}
	_, err = r.Update(ctx, id, func(now *Run) error {
		if now.revision != run.revision || now.State != Queued {
			return ErrUnchanged // it has something to do, or someone knows better
		}
		now.State, now.Unwanted = Idle, nil
		return nil
	})
	return err
}

// DroppedOutcome is that of a prompt that was cancelled by its name.
func DroppedOutcome() *Outcome {
	return &Outcome{IsError: true, Reason: "cancelled", Text: "The prompt was cancelled."}
}

func (r *Runs) askLeader(ctx context.Context, id, prompt string) error {
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	m, err := r.conn.NATS.RequestWithContext(ctx, r.Drops(id), []byte(prompt))
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return ErrNoLeader
	case err != nil:
		return fmt.Errorf("could not cancel the prompt: %w", err)
	case string(m.Data) != Dropped:
		return fmt.Errorf("could not cancel the prompt: %s", m.Data)
	}
	return nil
}
