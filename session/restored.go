package session

import (
	"encoding/json"
	"time"

	"github.com/haftdev/haft/model"
)

// Restored is the content of a journal when it is opened.
type Restored struct {
	// History is the conversation. It can be sent: every tool_use has its result, in the order
	// of the calls. The first caller owns it.
	History *model.History
	// Last is the UUID of the last message, "" if there is none.
	Last string
	// States are the latest values of each state.
	States map[string]json.RawMessage
	// Lost are the calls at the end of the conversation that have no result in the journal.
	// History tells the model that their outcome is unknown, or that they never ran.
	Lost []Call
	// Messages counts the messages since the session began.
	Messages int
	// Usage is what the session used, by model.
	Usage map[string]model.Usage
	// Model is the one that answered last, Title the title of the session, Cwd its working
	// directory.
	Model, Title, Cwd string
	// Waited is how long it took until the commands of an earlier process were gone.
	Waited time.Duration
	// Damaged counts lines that could not be parsed.
	Damaged int
}

// take fills in what was read in addition to the messages.
func (to *Restored) take(r *reading) {
	known := r.tally.snapshot()
	to.Last, to.Messages, to.Usage, to.Title = r.lastMessage(), known.Messages, known.Usage, known.Title
	to.Model, to.Cwd, to.Damaged = r.tally.model, r.cwd(), r.damage
	if known.States != nil {
		to.States = known.States
	}
}

func newRestored() *Restored {
	return &Restored{History: &model.History{}, States: map[string]json.RawMessage{}}
}
