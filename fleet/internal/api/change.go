package api

import (
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/wire"
)

// callTime is how long a request waits for a worker that is about to begin or to end.
const callTime = 15 * time.Second

// changed is what a request changes in the journal; "" if that is not for who does not lead
// the session.
func changed(r wire.Request) (name, value string) {
	switch r := r.(type) {
	case *wire.RenameSession:
		return "title", strings.TrimSpace(r.Title)
	case *wire.SetPermissionMode:
		return agent.StateMode, r.Mode
	case *wire.SetModel:
		return agent.StateModel, r.Model
	}
	return "", ""
}

// deleteTime is how long a server that is away is waited for while a session is deleted.
const deleteTime = 2 * time.Minute
