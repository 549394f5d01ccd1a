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

// An Outcome is how the turn of a prompt ended.
type Outcome struct {
	IsError bool    `json:"is_error"`
	Reason  string  `json:"reason,omitempty"` // why it ended, as the result says
	Text    string  `json:"text"`             // the answer, or what was wrong
	CostUSD float64 `json:"cost_usd"`
	Worker  string  `json:"worker"`
	// Result is the result of the turn as the wire has it; nil for a turn that had none.
	Result json.RawMessage `json:"result,omitempty"`
}

// Settle gives a prompt its outcome, unless it has one. It waits for a server whose disk is full.
func (r *Runs) Settle(ctx context.Context, id, prompt string, out *Outcome) error {
	raw, err := json.Marshal(out)
	if err == nil {
		err = engine.Try(ctx, func(attempt context.Context) (bool, error) {
			if r.asks() {
				_, err := r.request(attempt, askSettle, &request{ID: id, Prompt: prompt, Value: raw})
				return !isRefused(err), err
			}
			err := r.once(ctx, r.subject("r", id, prompt), raw)
			return engine.NoRoom(err), err
		})
	}
	if err != nil {
		return fmt.Errorf("store the outcome: %w", err)
	}
	return nil
}

// ErrPending is the error for a prompt without an outcome.
var ErrPending = errors.New("the prompt has no outcome yet")

// Outcome returns the outcome of a prompt. The error is [ErrPending] if it has none yet.
func (r *Runs) Outcome(ctx context.Context, id, prompt string) (*Outcome, error) {
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	s, err := r.conn.Stream(ctx, engine.Sessions(engine.ShardOf(id)))
	if err != nil {
		return nil, err
	}
	m, err := s.GetLastMsgForSubject(ctx, r.subject("r", id, prompt))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, ErrPending
	}
	if err != nil {
		return nil, err
	}
	out := new(Outcome)
	return out, json.Unmarshal(m.Data, out)
}

// Await waits for the outcome of a prompt. A run that was put aside has an error instead.
func (r *Runs) Await(ctx context.Context, id, prompt string) (*Outcome, error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		out, err := r.Outcome(ctx, id, prompt)
		if err == nil {
			return out, nil
		}
		if errors.Is(err, ErrPending) && wait > 100*time.Millisecond {
			if run, err := r.Get(ctx, id); err == nil && !run.Open() {
				return nil, fmt.Errorf("run %s is %s: %s", id, run.State, run.Reason)
			}
		}
		if engine.Pause(ctx, wait) != nil {
			return nil, fmt.Errorf("stopped waiting for run %s: %w", id, errors.Join(ctx.Err(), err))
		}
	}
}
