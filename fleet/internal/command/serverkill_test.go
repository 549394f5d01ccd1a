//go:build linux

package command_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/session"
)

// TestAServerThatIsKilledKeepsWhatItAcknowledged kills the server while journals are written.
func TestAServerThatIsKilledKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	logs := journal.New(f.conn, "default", nil)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	wrote := make([]bytes.Buffer, 8)
	ids := make([]string, len(wrote))
	for i := range wrote {
		ids[i] = session.NewUUID()
		log, pos, err := logs.Open(t.Context(), ids[i], "")
		if err != nil {
			t.Fatal(err)
		}
		writing.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				line := fmt.Appendf(nil, "{\"entry\":%d}\n", n)
				next, err := log.Append(t.Context(), pos, line)
				if err != nil {
					t.Errorf("entry %d: %v", n, err)
					return
				}
				pos = next
				wrote[i].Write(line)
			}
		})
	}
	for range 4 {
		time.Sleep(700 * time.Millisecond)
		f.servers[0].restart()
	}
	stop()
	writing.Wait()
	for i, id := range ids {
		text, err := logs.Text(t.Context(), id, "")
		if err != nil || !bytes.Equal(text, wrote[i].Bytes()) {
			t.Errorf("journal %d has %d lines, %d were acknowledged; %v", i, bytes.Count(text, []byte("\n")), bytes.Count(wrote[i].Bytes(), []byte("\n")), err)
		}
	}
	t.Logf("%d journals; the first has %d entries", len(ids), bytes.Count(wrote[0].Bytes(), []byte("\n")))
}
