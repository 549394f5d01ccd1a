package journal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/engine/enginetest"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
)

// While the journals are read, a fork is forked and deleted, and the new fork is where they were
// read already. That again and again, until the journals are quiet.
func TestAForkOfAForkKeepsTheFiles(t *testing.T) {
	logs := New(enginetest.Setup(t), "default", nil)
	ctx := t.Context()
	digest, unneeded := blob.Digest([]byte("a pack")), blob.Digest([]byte("another pack"))
	line, err := json.Marshal(map[string][]string{"packs": {digest}})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(shard uint32) (id string) {
		t.Helper()
		for id = session.NewUUID(); engine.ShardOf(id) != shard; id = session.NewUUID() {
		}
		log, pos, err := logs.Open(ctx, id, "")
		if err == nil {
			_, err = log.Append(ctx, pos, append(line, '\n'))
		}
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	read := func(s *scan, shard uint32) {
		t.Helper()
		if grew, err := s.read(ctx, shard); err != nil {
			t.Fatal(grew, err)
		}
	}
	fork := begin(0)
	s := newScan(logs, map[string]uint64{digest: 1, unneeded: 1})
	for _, shard := range []uint32{1, 0, 1, 0} { // each pass misses the fork, which was moved
		for n := range uint32(engine.Shards) {
			if n != 1-shard {
				read(s, n)
			}
		}
		next := begin(shard)
		if err := logs.Delete(ctx, fork); err != nil {
			t.Fatal(err)
		}
		fork = next
		read(s, 1-shard)
		if s.digests[digest] == 0 {
			t.Fatal("the journal was seen, and the test shows nothing")
		}
		// What is read next are entries that were written, even if they are gone.
		if info := s.shards[shard]; info.next > 1 && info.next > lastSeq(t, logs, shard) {
			t.Fatal("nothing seems to be new")
		}
	}
	for grew := true; grew; {
		if grew, err = s.pass(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if s.digests[digest] != 0 || s.digests[unneeded] == 0 {
		t.Errorf("removed would be %v", s.digests)
	}
	if grew, err := s.pass(ctx); grew || err != nil {
		t.Errorf("nothing was written, but %t, %v", grew, err)
	}
}

func lastSeq(t *testing.T, l *Logs, shard uint32) uint64 {
	t.Helper()
	s, err := l.conn.Stream(t.Context(), engine.Journals(shard))
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.LastSeq
}

// A removal that was cut off after its first step is finished by the next collection.
func TestARemovalThatWasCutOffIsFinished(t *testing.T) {
	conn := enginetest.Setup(t)
	logs, ctx := New(conn, "default", nil), t.Context()
	content := bytes.Repeat([]byte("x"), 1<<20)
	digest := blob.Digest(content)
	if err := logs.Files("gone").Put(ctx, digest, content); err != nil {
		t.Fatal(err)
	}
	b := &blobs{conn, "default", ""}
	store, err := conn.Objects(ctx)
	if err != nil {
		t.Fatal(err)
	}
	info, err := store.GetInfo(ctx, b.name(digest))
	if err != nil {
		t.Fatal(err)
	}
	s, err := conn.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(chunkPrefix+info.NUID))
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, err := s.Info(ctx); err != nil || left.State.Bytes > 10<<10 {
		t.Errorf("the chunks are still there: %+v, %v", left.State, err)
	}
	if freed, err := logs.Collect(ctx, func(string) (bool, error) { return true, nil }); err != nil || freed.Objects != 1 {
		t.Errorf("removed %+v, %v", freed, err)
	}
	if info, err := store.GetInfo(ctx, b.name(digest)); err == nil {
		t.Errorf("still there: %+v", info)
	}
}
