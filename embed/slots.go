package embed

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/sys/openfiles"
)

// filesEach is the maximum number of files a conversation needs if it runs no commands: its
// journal with locks, its working directory, a connection.
const filesEach = 12

// patience is how long a conversation waits to start while none of the others ends.
const patience = time.Minute

// places are what conversations of this process take up.
type places struct {
	taken chan struct{}
	ended atomic.Int64 // how many have been given back
}

// slots limit how many conversations run at once in this process, by the files that it may
// open: with too many, all of them would fail somewhere in the middle.
var slots = sync.OnceValue(func() *places { return newPlaces(max(openfiles.Limit()/filesEach, 4)) })

func newPlaces(n int) *places { return &places{taken: make(chan struct{}, n)} }

// acquire waits for a slot, as long as others are being released.
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
				return fmt.Errorf("embed: %d conversations are open and none has ended for %s: close some, or raise the limit of %d open files (ulimit -n)", cap(p.taken), patience, openfiles.Limit())
			}
		}
	}
}

func (p *places) release() {
	p.ended.Add(1)
	<-p.taken
}
