package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// cancelled is the reason of outcomes of runs that a user has cancelled.
const cancelled = "cancelled"

// Outcome implements [serve.Backend].
func (b *Backend) Outcome(ctx context.Context, id, prompt string) (serve.Outcome, error) {
	if !engine.Word(prompt) {
		return serve.Outcome{}, serve.ErrNoPrompt
	}
	out, err := b.runs.Outcome(ctx, id, prompt)
	if err == nil {
		state, why := serve.OutcomeDone, ""
		if out.Reason == cancelled {
			state, why = serve.OutcomeCancelled, out.Text
		}
		return serve.Outcome{UUID: prompt, State: state, Reason: why, Result: resultOf(id, out)}, nil
	}
	if !errors.Is(err, runs.ErrPending) {
		return serve.Outcome{}, err
	}
	if sent, err := b.runs.Prompted(ctx, id, prompt); err != nil || !sent {
		return serve.Outcome{}, errors.Join(err, serve.ErrNoPrompt)
	}
	run, err := b.runs.Get(ctx, id)
	if err != nil {
		return serve.Outcome{}, refused(err)
	}
	if run.State == runs.Quarantined {
		return serve.Outcome{UUID: prompt, State: serve.OutcomeQuarantined, Reason: run.Reason}, nil
	}
	return serve.Outcome{UUID: prompt, State: serve.OutcomeWaiting}, nil
}

// resultOf is the result of a turn as the wire has it. A turn whose worker was lost after its
// answer was written, or that never began, has one that is made of what is known.
func resultOf(id string, out *runs.Outcome) json.RawMessage {
	if out.Result != nil {
		return out.Result
	}
	r := &wire.Result{Stamp: wire.Stamp{UUID: session.NewUUID(), SessionID: id}, Subtype: wire.ResultSuccess, IsError: out.IsError, TerminalReason: out.Reason, TotalCostUSD: out.CostUSD, Result: out.Text}
	if out.IsError {
		r.Subtype, r.Result, r.Errors = "error_during_execution", "", []string{out.Text}
	}
	raw, err := wire.Encode(r)
	if err != nil {
		return nil // strings can be encoded
	}
	return raw
}
