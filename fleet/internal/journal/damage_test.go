package journal_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/session"
)

// What a damaged disk takes away is found, in the middle of a journal and at its end, and
// the session is not resumed as if it were whole.
func TestLostEntriesAreFound(t *testing.T) {
	conn, _ := open(t)
	for name, lose := range map[string]func(n int) int{
		"the first":   func(int) int { return 0 },
		"one between": func(n int) int { return n / 2 },
		"the last":    func(n int) int { return n - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			var reported *journal.DamagedError
			logs := journal.New(conn, "default", func(e *journal.DamagedError) { reported = e })
			store := session.OpenLogs(logs, t.TempDir())
			s := sessiontest.Create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
			for range 6 {
				sessiontest.Add(t, s, sessiontest.Prompt("more"))
			}
			sessiontest.Close(t, s)
			sessiontest.Close(t, sessiontest.Resume(t, store, s.ID(), nil))
			at := entriesOf(t, conn, s.ID())
			if err := at.stream.DeleteMsg(t.Context(), at.seqs[lose(len(at.seqs))]); err != nil {
				t.Fatal(err)
			}
			_, err := store.Resume(t.Context(), s.ID(), nil)
			var damage *journal.DamagedError
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), s.ID()) || reported == nil {
				t.Errorf("resumed with %v, reported %v", err, reported)
			}
		})
	}
}

func TestAWorkerMayNotDeleteJournals(t *testing.T) {
	srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	connect := func(key string) *engine.Conn {
		conn, err := engine.Connect(t.Context(), srv.URL(), &engine.ConnectOptions{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	if err := connect(srv.Keys().Operator).Setup(t.Context(), 1, engine.Limits{}); err != nil {
		t.Fatal(err)
	}
	worker := connect(srv.Keys().Worker)
	s := sessiontest.Create(t, session.OpenLogs(journal.New(worker, "default", nil), t.TempDir()), &session.CreateOptions{Cwd: t.TempDir()})
	sessiontest.Add(t, s, sessiontest.Prompt("hello"))
	at := entriesOf(t, worker, s.ID())
	short, cancel := context.WithTimeout(t.Context(), time.Second) // what is not allowed is not answered
	defer cancel()
	if err := at.stream.DeleteMsg(short, at.seqs[0]); err == nil {
		t.Error("a worker deleted an entry")
	}
	if err := at.stream.Purge(short); err == nil {
		t.Error("a worker purged journals")
	}
	if got := entriesOf(t, worker, s.ID()); len(got.seqs) != 1 {
		t.Errorf("entries %v", got.seqs)
	}
	if _, err := engine.Connect(t.Context(), srv.URL(), nil); err == nil {
		t.Error("somebody without a key connected")
	}
}
