package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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
// will have. On an error, what remains is removed by the next call.
func (l *Logs) Collect(ctx context.Context, gone func(run string) (bool, error)) (Freed, error) {
	var freed Freed
	unneeded, err := l.filesOf(ctx, gone)
	if err == nil && len(unneeded) > 0 {
		err = l.keepReferenced(ctx, unneeded)
	}
	if err != nil {
		return freed, fmt.Errorf("find files that nothing needs: %w", err)
	}
	for digest, size := range unneeded {
		if err := (&blobs{l.conn, l.tenant, ""}).remove(ctx, digest); err != nil {
			return freed, fmt.Errorf("remove files that nothing needs: %w", err)
		}
		freed.Objects++
		freed.Bytes += size
	}
	return freed, nil
}

// filesOf returns the digests and sizes of what runs have stored that are gone.
func (l *Logs) filesOf(ctx context.Context, gone func(run string) (bool, error)) (map[string]uint64, error) {
	var list []*jetstream.ObjectInfo
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		store, err := l.conn.Objects(ctx)
		if err == nil {
			list, err = store.List(ctx)
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

// keepReferenced takes what any journal refers to out of digests.
func (l *Logs) keepReferenced(ctx context.Context, digests map[string]uint64) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	var reading sync.WaitGroup
	for n := range uint32(engine.Shards) {
		reading.Go(func() {
			rest := map[string][]byte{} // of each conversation, the end of an entry that may continue in the next
			for seq := uint64(1); ; {
				e, subject, err := l.next(ctx, n, seq, "j."+fmt.Sprint(n)+"."+l.tenant+".>")
				if err != nil {
					stop(err)
				}
				if err != nil || e == nil {
					return
				}
				seq = e.pos.Seq + 1
				text := append(rest[subject], e.body...)
				mu.Lock()
				forEachDigest(text, func(digest string) { delete(digests, digest) })
				mu.Unlock()
				if delete(rest, subject); !bytes.HasSuffix(text, []byte{'\n'}) {
					rest[subject] = bytes.Clone(text[max(0, len(text)-digestLength):])
				}
			}
		})
	}
	reading.Wait()
	return context.Cause(ctx)
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
