package headless

import (
	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/wire"
)

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

// unsent reports whether a hook did not let the prompt pass.
func unsent(ev agent.Result) bool { return ev.Reason == agent.StoppedByHook && ev.Requests == 0 }

func terminalReason(r agent.Reason) string {
	if r == agent.Superseded {
		return string(agent.AbortedTools)
	}
	return string(r)
}
