package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A stream is the log of one agent's conversation while the session writes to it.
type stream struct {
	log  Log
	pos  Pos    // where it ends
	torn bool   // its last line is not whole
	tail string // the last message, "" if there is none

	soon    atomic.Bool // a sync is set
	mu      sync.Mutex
	later   *time.Timer // of that sync
	pending sync.WaitGroup
}

// syncDelay is how long the results of calls without effects may wait for the disk: those of
// one moment share a sync.
const syncDelay = 100 * time.Millisecond

// fileName keeps an agent's name from leaving its folder.
func fileName(agent string) string {
	return string(bytes.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r == '-', r == '_':
			return r
		}
		return '_'
	}, []byte(agent)))
}

// write adds whole lines. If a failed write left part of a line, the next write makes it
// harmless.
func (st *stream) write(ctx context.Context, lines []byte) error {
	if st.torn {
		lines = append([]byte("\n"), lines...)
	}
	pos, err := st.log.Append(ctx, st.pos, lines)
	switch {
	case err == nil:
		st.torn = false
	case pos != st.pos:
		st.torn = true
	}
	st.pos = pos
	return err
}

// syncSoon syncs what was written while the caller continues. An error is returned by the
// next sync.
func (st *stream) syncSoon() {
	if !st.soon.CompareAndSwap(false, true) {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.pending.Add(1)
	st.later = time.AfterFunc(syncDelay, func() {
		defer st.pending.Done()
		st.soon.Store(false)
		_ = st.log.Sync(context.Background())
	})
}

// close closes the log, which syncs it.
func (st *stream) close() error {
	st.mu.Lock()
	if st.later != nil && st.later.Stop() {
		st.pending.Done()
	}
	st.mu.Unlock()
	st.pending.Wait()
	return st.log.Close()
}

// read is [read] for what the stream writes to.
func (st *stream) read(ctx context.Context, agent, at string) (*reading, error) {
	t, err := st.tailOf(ctx)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return t.read(ctx, agent, at)
}

// endOfLog is the end of a log of unknown size: positions in it are only compared.
const endOfLog = 1 << 62

// tailOf is openTail for what a stream was read from.
func (st *stream) tailOf(ctx context.Context) (*tail, error) {
	if j, ok := st.log.(*journal); ok {
		return openTail(j.path)
	}
	if st.pos == (Pos{}) {
		return nil, fmt.Errorf("open session: %w", os.ErrNotExist)
	}
	return newTail("the session", st.log.Back(ctx), endOfLog), nil
}
