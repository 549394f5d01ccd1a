package agent

import (
	"encoding/json"

	"github.com/haftdev/haft/session"
)

// Names under which an agent stores what a resumed session needs in addition to the
// messages.
const (
	StateModel    = "model"            // the one that was chosen, a string
	StateMode     = "mode"             // the permission mode, a string
	StateRevealed = "revealed"         // see [Options.Revealed]
	StateRefused  = "refused"          // see [Options.Refused]
	StatePlain    = "plainTools"       // the server takes no references to tools: see [tool.SetOptions.References]
	StateBeside   = session.StateSpent // what was used and is in no answer, by model
	StateAsked    = "asked:"           // followed by the name under which a model answers: the one that it was asked by
)

// states are what was stored about a session. They wait for its first prompt: a session
// without messages is not stored.
type states struct {
	known   map[string]json.RawMessage
	waiting map[string]bool // which of them are not written down
	begun   bool            // the session has a prompt
}

// renew continues in another session, which knows nothing.
func (s *states) renew() {
	s.begun = false
	for name := range s.known {
		s.waiting[name] = true
	}
}
