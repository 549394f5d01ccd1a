package journal_test

import (
	"testing"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/session"
)

// open returns the journals of a server of the test's own.
func open(t *testing.T) (*engine.Conn, *journal.Logs) {
	t.Helper()
	conn := enginetest.Setup(t)
	return conn, journal.New(conn, "default", nil)
}

func TestSessionsInJetStream(t *testing.T) {
	_, logs := open(t)
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Stage { return sessiontest.NewWithLogs(t, logs) })
	sessiontest.RunLogs(t, func(t *testing.T) session.Logs { return logs })
}
