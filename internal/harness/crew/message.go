package crew

import (
	"github.com/haftdev/haft/internal/tools/subagent"
)

// main is the name of the main conversation.
const main = "main"

// newResting is the state of an agent whose work of an earlier process ended so.
func newResting(status subagent.Status) *state {
	return &state{background: true, worked: true, status: status, detached: make(chan struct{})}
}
