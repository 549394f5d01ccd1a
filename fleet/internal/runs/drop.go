package runs

import (
	"errors"
)

// Dropped is the reply of a leader that has cancelled a prompt. Others say why it could not.
const Dropped = "dropped"

// ErrNoLeader is the error of a prompt whose run a worker leads that does not answer.
var ErrNoLeader = errors.New("the run's worker does not answer")

// DroppedOutcome is that of a prompt that was cancelled by its name.
func DroppedOutcome() *Outcome {
	return &Outcome{IsError: true, Reason: "cancelled", Text: "The prompt was cancelled."}
}
