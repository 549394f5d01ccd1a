package journal

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// runKey is where the store notes whose files an object has.
const runKey = "haft-run"

// Freed is what was removed from the store.
type Freed struct {
	Objects int    `json:"freed_objects"`
	Bytes   uint64 `json:"freed_bytes"`
}

// A scan reads the journals of all shards.
type scan struct {
	logs    *Logs
	mu      sync.Mutex
	digests map[string]uint64 // that no entry was found to refer to
	shards  [engine.Shards]shardScan
}

func newScan(l *Logs, digests map[string]uint64) *scan {
	s := &scan{logs: l, digests: digests}
	for n := range s.shards {
		s.shards[n] = shardScan{1, map[string][]byte{}}
	}
	return s
}

// A shardScan is how far a shard was read.
type shardScan struct {
	next uint64            // number of the first entry that was not read
	rest map[string][]byte // of each conversation, the end of an entry that may continue in the next
}

// pass reads what was written since the last pass. Grew reports whether anything was, even if it
// is deleted by now.
func (s *scan) pass(ctx context.Context) (grew bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var more atomic.Bool
	var reading sync.WaitGroup
	for n := range uint32(engine.Shards) {
		reading.Go(func() {
			grew, err := s.read(ctx, n)
			if err != nil {
				stop(err)
			}
			if grew {
				more.Store(true)
			}
		})
	}
	reading.Wait()
	return more.Load(), context.Cause(ctx)
}

// read is pass for one shard.
func (s *scan) read(ctx context.Context, n uint32) (grew bool, err error) {
	end, at := uint64(0), &s.shards[n]
	err = engine.Try(ctx, func(ctx context.Context) (bool, error) {
		stream, err := s.logs.conn.Stream(ctx, engine.Journals(n))
		if err != nil {
			return true, err
		}
		info, err := stream.Info(ctx)
		if err == nil {
			end = info.State.LastSeq
		}
		return true, err
	})
	if err != nil || end < at.next {
		return false, err
	}
	for at.next <= end {
		e, subject, err := s.logs.next(ctx, n, at.next, "j."+fmt.Sprint(n)+"."+s.logs.tenant+".>")
		if err != nil {
			return true, err
		}
		if e == nil {
			at.next = end + 1
			break
		}
		at.next = e.pos.Seq + 1
		s.look(at, subject, e.body)
	}
	return true, nil
}

// look takes out what an entry refers to.
func (s *scan) look(at *shardScan, subject string, body []byte) {
	text := append(at.rest[subject], body...)
	s.mu.Lock()
	forEachDigest(text, func(digest string) { delete(s.digests, digest) })
	s.mu.Unlock()
	if delete(at.rest, subject); !bytes.HasSuffix(text, []byte{'\n'}) {
		at.rest[subject] = bytes.Clone(text[max(0, len(text)-digestLength):])
	}
}

// digestLength is how long a digest is as text.
const digestLength = 64

// forEachDigest calls each with everything in a text that could be a digest.
func forEachDigest(text []byte, each func(string)) {
	length := 0
	for i, c := range text {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			if length++; length >= digestLength {
				each(string(text[i+1-digestLength : i+1]))
			}
		} else {
			length = 0
		}
	}
}
