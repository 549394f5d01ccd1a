package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/workspace/blob"
)

// runKey is where the store notes whose files an object has.
const runKey = "haft-run"

// Files is the store of the files of a run: what it stores is noted as the run's, so that
// [Logs.Collect] finds it when the run is gone. No two runs may store the same content.
func (l *Logs) Files(run string) blob.Store { return &blobs{l.conn, l.tenant, run} }

// Freed is what was removed from the store.
type Freed struct {
	Objects int    `json:"freed_objects"`
	Bytes   uint64 `json:"freed_bytes"`
}

// Collect removes the stored files of runs that are gone, unless a journal refers to them: those of
// a run that was forked are needed by the fork. A run is gone for good before gone says so, and who
// copies entries of one looks at it again afterwards; so what the journals do not have by now, none
// will have. On an error, what remains is removed by a later call.
func (l *Logs) Collect(ctx context.Context, gone func(run string) (bool, error)) (Freed, error) {
	var freed Freed
	unneeded, err := l.filesOf(ctx, gone)
	if err == nil && len(unneeded) > 0 {
		err = l.keepReferenced(ctx, unneeded)
	}
	if err != nil {
		return freed, fmt.Errorf("find unused files: %w", err)
	}
	for digest, size := range unneeded {
		if err := (&blobs{l.conn, l.tenant, ""}).remove(ctx, digest); err != nil {
			return freed, fmt.Errorf("remove unused files: %w", err)
		}
		freed.Objects++
		freed.Bytes += size
	}
	return freed, nil
}

// listTime is how long the list of all that is stored may take.
const listTime = 5 * time.Minute

// filesOf returns the digests and sizes of what runs have stored that are gone.
func (l *Logs) filesOf(ctx context.Context, gone func(run string) (bool, error)) (map[string]uint64, error) {
	var list []*jetstream.ObjectInfo
	listing, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	err := engine.Try(listing, func(attempt context.Context) (bool, error) {
		store, err := l.conn.Objects(attempt)
		if err == nil {
			list, err = store.List(listing) // which takes longer than one request
		}
		if errors.Is(err, jetstream.ErrNoObjectsFound) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	digests, known := map[string]uint64{}, map[string]bool{}
	for _, info := range list {
		run, digest := info.Metadata[runKey], strings.TrimPrefix(info.Name, l.tenant+"/")
		if run == "" || digest == info.Name {
			continue
		}
		is, asked := known[run]
		if !asked {
			if is, err = gone(run); err != nil {
				return nil, err
			}
			known[run] = is
		}
		if is {
			digests[digest] = info.Size
		}
	}
	return digests, nil
}

// settleTime is how long the journals may take to be quiet for a moment, once they were read.
const settleTime = 30 * time.Second

// keepReferenced takes what any journal refers to out of digests.
//
// A fork that is made while the journals are read may be written where they were read already, and the
// journal that it was made from deleted before it is read. So what was written since is read, until
// nothing was: then all that is there was read. Journals that are never quiet keep everything.
func (l *Logs) keepReferenced(ctx context.Context, digests map[string]uint64) error {
	s := newScan(l, digests)
	_, err := s.pass(ctx)
	for end := time.Now().Add(settleTime); err == nil; {
		grew, failed := s.pass(ctx)
		switch {
		case failed != nil || !grew:
			return failed
		case time.Now().After(end):
			err = fmt.Errorf("the journals kept changing for %s", settleTime)
		}
	}
	return err
}

// A scan reads the journals of all shards.
type scan struct {
	logs    *Logs
	mu      sync.Mutex
	digests map[string]uint64 // that no entry was found to refer to
	shards  [engine.Shards]shardScan
}

// A shardScan is how far a shard was read.
type shardScan struct {
	next uint64            // number of the first entry that was not read
	rest map[string][]byte // of each conversation, the end of an entry that may continue in the next
}

func newScan(l *Logs, digests map[string]uint64) *scan {
	s := &scan{logs: l, digests: digests}
	for n := range s.shards {
		s.shards[n] = shardScan{1, map[string][]byte{}}
	}
	return s
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
