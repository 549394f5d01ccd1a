package journal_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// entries are where the entries of a session are.
type entries struct {
	stream jetstream.Stream
	seqs   []uint64
}

func entriesOf(t *testing.T, conn *engine.Conn, id string) (e entries) {
	t.Helper()
	for n := range uint32(engine.Shards) {
		s, err := conn.Stream(t.Context(), engine.Journals(n))
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for seq := info.State.FirstSeq; seq <= info.State.LastSeq && seq > 0; seq++ {
			if m, err := s.GetMsg(t.Context(), seq); err == nil && strings.Contains(m.Subject, id) {
				e.stream, e.seqs = s, append(e.seqs, seq)
			}
		}
	}
	if len(e.seqs) == 0 {
		t.Fatalf("session %s has no entries", id)
	}
	return e
}
