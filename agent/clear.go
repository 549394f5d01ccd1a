package agent

import (
	"fmt"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/session"
)

// clearCommand is a turn that forgets the conversation. Nothing of it is deleted.
func (t *turn) clearCommand() Reason {
	a := t.a
	a.fire(t.asking, hook.SessionEnd{Reason: "clear"})
	if a.opts.Renew != nil {
		j, err := a.opts.Renew(t.lasting)
		if err != nil {
			return t.fail(JournalFailure, fmt.Errorf("begin a new session: %w", err))
		}
		a.mu.Lock()
		a.journal = j
		a.talk = conversation{}
		a.set.tools = a.set.tools.Renew()
		a.noted.renew()
		a.ledger.renew()
		a.mu.Unlock()
	} else if err := t.replace(&Compacted{UUID: session.NewUUID(), Trigger: "clear", PreTokens: t.tokens()}, nil); err != nil {
		return t.fail(JournalFailure, err)
	}
	a.fresh, a.started, a.source = true, false, "clear"
	clear(a.named)
	a.out.put(Changed{Cleared, a.Session()})
	return Completed
}
