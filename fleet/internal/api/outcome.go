package api

import (
	"encoding/json"

	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// cancelled is the reason of outcomes of runs that a user has cancelled.
const cancelled = "cancelled"

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
