// Package enginetest starts a server of the fleet for a test.
package enginetest

import (
	"testing"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// Connect starts a server and connects to it as its operator. Both end with the test.
func Connect(t testing.TB) *engine.Conn {
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
	return conn
}

// Setup starts a server that runs can be kept on, and connects to it.
func Setup(t testing.TB) *engine.Conn {
	t.Helper()
	conn := Connect(t)
	if err := conn.Setup(t.Context(), 1, engine.Limits{}); err != nil {
		t.Fatal(err)
	}
	return conn
}
