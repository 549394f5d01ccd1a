package journal_test

import (
	"testing"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/internal/sessiontest"
	"github.com/haftdev/haft/session"
)

// open returns the journals of a server of the test's own.
func open(t *testing.T) (*engine.Conn, *journal.Logs) {
	t.Helper()
	srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	conn, err := engine.Connect(t.Context(), srv.URL(), &engine.ConnectOptions{Key: srv.Keys().Operator})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if err := conn.Setup(t.Context(), 1, engine.Limits{}); err != nil {
		t.Fatal(err)
	}
	return conn, journal.New(conn, "default", nil)
}

func TestSessionsInJetStream(t *testing.T) {
	_, logs := open(t)
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Stage { return sessiontest.InLogs(t, logs) })
	sessiontest.RunLogs(t, func(t *testing.T) session.Logs { return logs })
}
