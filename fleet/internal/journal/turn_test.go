package journal_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/session"
)

// TestTurnOverhead writes turns of five entries, two of which are synced as calls and their
// results are, in turns into files and into a server that writes to the disk before it
// acknowledges. The difference is what a turn costs more: 2 ms are promised on a quiet machine
// (HAFT_NIGHTLY=1), and here nothing but that it can be measured.
func TestTurnOverhead(t *testing.T) {
	_, logs := open(t)
	stores := []*session.Store{session.Open(t.TempDir()), session.OpenLogs(logs, t.TempDir())}
	var took [2][]time.Duration
	var sessions [2]*session.Session
	for i, store := range stores {
		sessions[i] = sessiontest.Create(t, store, &session.CreateOptions{Cwd: t.TempDir()})
	}
	for range 200 {
		for i, s := range sessions {
			began := time.Now()
			for n := range 5 {
				sessiontest.Add(t, s, sessiontest.Prompt("an entry of a turn"))
				if n == 2 || n == 3 {
					if err := s.Sync(); err != nil {
						t.Fatal(err)
					}
				}
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i := range took {
		sessiontest.Close(t, sessions[i])
		slices.Sort(took[i])
	}
	files, server := took[0][100], took[1][100]
	t.Logf("a turn of five entries: files p50 %s p99 %s, JetStream p50 %s p99 %s: %s more", files, took[0][198], server, took[1][198], server-files)
	if os.Getenv("HAFT_NIGHTLY") != "" && server-files > 2*time.Millisecond {
		t.Errorf("a turn costs %s more than in files", server-files)
	}
}
