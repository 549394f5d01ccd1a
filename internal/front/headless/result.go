package headless

import (
	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/wire"
)

// result ends a turn.
func (t *teller) result(ev agent.Result) {
	r := &wire.Result{
		Stamp: t.stamp(ev.UUID), Subtype: subtype(ev.Reason), IsError: t.isError(ev),
		DurationMS: ev.Duration.Milliseconds(), DurationAPIMS: ev.APITime.Milliseconds(),
		NumTurns: 1 + ev.Calls, StopReason: wire.NullString(ev.StopReason), Usage: usage(ev.Usage),
		TerminalReason: terminalReason(ev.Reason), QueuedTurnCount: ev.Queued, ResultIndex: t.results, LocalCommand: ev.Command,
		StructuredOutput: ev.Structured,
	}
	if ev.TTFT != nil {
		r.TTFTMS = new(int(ev.TTFT.Milliseconds()))
	}
	t.results++
	if unsent(ev) {
		t.send(&wire.Informational{Stamp: t.stamp(""), Level: "warning", Content: ev.Text})
	}
	if ev.Requests == 0 {
		r.NumTurns = 0
	}
	r.ModelUsage, r.TotalCostUSD = t.modelUsage(ev.Total)
	for _, d := range ev.Denials {
		r.PermissionDenials = append(r.PermissionDenials, wire.PermissionDenial{ToolName: d.Tool, ToolUseID: d.UseID, ToolInput: d.Input})
	}
	if r.UserMessageUUIDs = t.followed(ev.Prompts); len(r.UserMessageUUIDs) > 0 {
		r.UserMessageUUID = r.UserMessageUUIDs[0]
	}
	if r.Subtype == wire.ResultSuccess {
		r.Result = ev.Text
		if ev.Err != nil {
			r.StopReason, r.APIErrorStatus, r.APIErrorType = "stop_sequence", status(ev.Err), ev.Err.Type
		}
	} else if r.Errors = ev.Errors; len(r.Errors) == 0 {
		r.Errors = []string{string(ev.Reason)}
	}
	r.Origin = ev.Sender
	if ev.Origin != "" {
		r.Origin = mustJSON(map[string]string{"kind": ev.Origin})
	}
	t.prompts = nil
	t.send(r)
	state := "completed"
	if ev.Reason == agent.AbortedTools || ev.Reason == agent.AbortedStreaming {
		state = "cancelled"
	}
	for _, uuid := range r.UserMessageUUIDs {
		t.lifecycle(uuid, state)
	}
	t.inTurn = false
	if ev.Queued == 0 {
		t.rest()
	}
}

// rest reports that nothing runs. After that a program may stop answering, although an
// agent in the background may still have questions.
func (t *teller) rest() {
	for _, k := range t.tasks {
		if k.Type == "local_agent" {
			return
		}
	}
	t.state(wire.StateIdle)
}

// subtype classifies the end of a turn as the wire does: an error of the model's server is
// a success with an error.
func subtype(r agent.Reason) string {
	switch r {
	case agent.Completed, agent.Superseded, agent.StoppedByHook, agent.APIError, agent.PromptTooLong, agent.Refused:
		return wire.ResultSuccess
	case agent.MaxTurns:
		return wire.ResultMaxTurns
	case agent.BudgetExhausted:
		return wire.ResultMaxBudget
	case agent.StructuredRetries:
		return wire.ResultStructuredRetries
	}
	return wire.ResultDuringExecution
}

// isError reports whether the turn is an error. A hook that ends a turn does what it is
// for; but a caller that waits for one answer has none if the prompt was not sent.
func (t *teller) isError(ev agent.Result) bool {
	return ev.Reason.IsError() && (ev.Reason != agent.StoppedByHook || t.oneAnswer && unsent(ev))
}

// unsent reports whether a hook did not let the prompt pass.
func unsent(ev agent.Result) bool { return ev.Reason == agent.StoppedByHook && ev.Requests == 0 }

func terminalReason(r agent.Reason) string {
	if r == agent.Superseded {
		return string(agent.AbortedTools)
	}
	return string(r)
}

func (t *teller) modelUsage(total map[string]agent.ModelUsage) (map[string]wire.ModelUsage, float64) {
	out, cost := map[string]wire.ModelUsage{}, 0.0
	for name, u := range total {
		m := wire.ModelUsage{
			InputTokens: int(u.Input), OutputTokens: int(u.Output), CacheReadInputTokens: int(u.CacheRead), CacheCreationInputTokens: int(u.CacheWrite),
			WebSearchRequests: int(u.Searches), CostUSD: u.Cost, CanonicalModel: name,
		}
		if u.Unpriced {
			m.CostBasis = "unknown"
		}
		if t.modelFor != nil {
			window, output := t.modelFor(name)
			m.ContextWindow, m.MaxOutputTokens = int(window), int(output)
		}
		out[name], cost = m, cost+u.Cost
	}
	return out, cost
}
