package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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

// note keeps a fact that a resumed session needs.
func (a *Agent) note(name string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		a.unnoted(name, err)
		return
	}
	a.mu.Lock()
	j, begun := a.journal, a.noted.begun
	a.noted.known[name] = raw
	a.noted.waiting[name] = !begun
	a.mu.Unlock()
	if begun {
		a.write(j, name, raw)
	}
}

// begin writes down what waits for a prompt.
func (a *Agent) begin() {
	a.mu.Lock()
	j, known, waiting := a.journal, maps.Clone(a.noted.known), maps.Clone(a.noted.waiting)
	a.noted.begun = true
	clear(a.noted.waiting)
	a.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if waiting[name] {
			a.write(j, name, known[name])
		}
	}
}

// write stores a state. It is not part of the conversation, so a failure is left to the
// next entry that is.
func (a *Agent) write(j Journal, name string, raw json.RawMessage) {
	if err := j.Append(context.Background(), session.Entry{Agent: a.opts.Agent, State: &session.State{Name: name, Value: raw}}); err != nil {
		a.unnoted(name, err)
	}
}

func (a *Agent) unnoted(name string, err error) {
	a.out.put(Notice{Level: "warning", Text: fmt.Sprintf("save %s: %s", name, err)})
}

// noteBeside records what was used outside of answers, if that has grown.
func (a *Agent) noteBeside() {
	a.mu.Lock()
	told, beside := a.ledger.told, maps.Clone(a.ledger.beside)
	a.ledger.told = true
	a.mu.Unlock()
	if !told {
		a.note(StateBeside, beside)
	}
}
