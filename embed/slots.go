package embed

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/openfiles"
)

// filesEach is how many files a conversation needs at most when it runs no commands:
// its journal with locks, the folder it works in, a connection.
const filesEach = 12

// patience is how long a conversation waits to begin while none of the others ends.
const patience = time.Minute

// places are what conversations of this process take up.
type places struct {
	taken chan struct{}
	ended atomic.Int64 // how many have been given back
}

// slots bound how many conversations there are at once in this process, by the files
// that it may open: with too many, all of them would fail somewhere in the middle.
var slots = sync.OnceValue(func() *places { return newPlaces(max(openfiles.Limit()/filesEach, 4)) })

func newPlaces(n int) *places { return &places{taken: make(chan struct{}, n)} }

// acquire waits for a place, as long as some of the others are given back.
func (p *places) acquire(ctx context.Context, patience time.Duration) error {
	for {
		ended := p.ended.Load()
		select {
		case p.taken <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(patience):
			if p.ended.Load() == ended {
				return fmt.Errorf("embed: %d conversations are open, and none of them ended for %s: close some, or let this process open more files than %d (ulimit -n)", cap(p.taken), patience, openfiles.Limit())
			}
		}
	}
}

func (p *places) release() {
	p.ended.Add(1)
	<-p.taken
}
