package workspace

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// turns lets those who name the same thing take turns: goroutines in memory, processes by locked files in a directory.
type turns struct {
	dir string
	fs  disk.FS

	mu   sync.Mutex
	held map[string]*queue // by name of the lock file, while someone holds or waits for it
}

type queue struct {
	turn chan struct{}
	n    int
}

// A process that was stopped in the middle of a write must not block all others forever.
const (
	turnPatience = 10 * time.Second
	firstPoll    = time.Millisecond
	slowestPoll  = 50 * time.Millisecond
)

var errBusy = fmt.Errorf("not released within %v", turnPatience)

// take waits for the turn of a name. Lock files are few and stay: a lock on a removed file would exclude nobody. Names that
// share one wait for each other; a caller that takes several takes them in the order of their kinds, one of each.
func (t *turns) take(ctx context.Context, kind, name string) (release func(), err error) {
	sum := sha256.Sum256([]byte(name))
	lock := fmt.Sprintf("%s-%02x", kind, sum[0])
	leave, err := t.enqueue(ctx, lock)
	if err != nil {
		return nil, err
	}
	file, err := t.lockFile(ctx, lock)
	if err != nil {
		leave()
		return nil, err
	}
	return func() { _ = file.Close(); leave() }, nil
}

// enqueue takes turns with the goroutines of this process.
func (t *turns) enqueue(ctx context.Context, lock string) (leave func(), err error) {
	t.mu.Lock()
	if t.held == nil {
		t.held = map[string]*queue{}
	}
	q := t.held[lock]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		t.held[lock] = q
	}
	q.n++
	t.mu.Unlock()
	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if q.n--; q.n == 0 {
			delete(t.held, lock)
		}
	}
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}

// lockFile takes turns with other processes. Closing the file gives the turn back, and so does dying.
func (t *turns) lockFile(ctx context.Context, lock string) (disk.File, error) {
	file, err := t.open(lock)
	if err != nil {
		return nil, err
	}
	deadline := time.After(turnPatience)
	for wait := firstPoll; ; wait = min(2*wait, slowestPoll) {
		ok, err := file.Lock()
		if ok {
			return file, nil
		}
		if err == nil {
			select {
			case <-time.After(wait):
				continue
			case <-deadline:
				err = errBusy
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		file.Close()
		return nil, err
	}
}

func (t *turns) open(lock string) (disk.File, error) {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(t.dir)
	if err != nil {
		return nil, err
	}
	dir, err := t.fs.OpenDir(real)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(lock, os.O_RDWR|os.O_CREATE, 0o600)
}
