package sessiontest

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"github.com/haftdev/haft/session"
)

// Memory are logs in memory. The position of a log is how many appends it has, and the
// hash of them.
type Memory struct {
	mu    sync.Mutex
	logs  map[string][][]byte
	tips  map[string][16]byte
	blobs map[string][]byte
}

// NewMemory returns logs with nothing in them.
func NewMemory() *Memory {
	return &Memory{logs: map[string][][]byte{}, tips: map[string][16]byte{}, blobs: map[string][]byte{}}
}

// Open implements [session.Logs].
func (m *Memory) Open(_ context.Context, id, agent string) (session.Log, session.Pos, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &memoryLog{m, id + "/" + agent}
	return l, l.pos(), nil
}

// Blobs implements [session.Logs].
func (m *Memory) Blobs() session.Blobs { return (*memoryBlobs)(m) }

type memoryLog struct {
	m    *Memory
	name string
}

func (l *memoryLog) pos() session.Pos {
	return session.Pos{Seq: uint64(len(l.m.logs[l.name])), Tip: l.m.tips[l.name]}
}

// Append implements [session.Log].
func (l *memoryLog) Append(_ context.Context, after session.Pos, lines []byte) (session.Pos, error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.pos() != after {
		return after, session.ErrFenced
	}
	l.m.logs[l.name] = append(l.m.logs[l.name], slices.Clone(lines))
	sum := sha256.Sum256(append(after.Tip[:], lines...))
	l.m.tips[l.name] = [16]byte(sum[:16])
	return l.pos(), nil
}

// Sync implements [session.Log]: memory has no disk to reach.
func (l *memoryLog) Sync(context.Context) error { return nil }

// Back implements [session.Log].
func (l *memoryLog) Back(context.Context) iter.Seq2[[]byte, error] {
	l.m.mu.Lock()
	pieces := slices.Clone(l.m.logs[l.name])
	l.m.mu.Unlock()
	return func(yield func([]byte, error) bool) {
		for _, p := range slices.Backward(pieces) {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// Close implements [session.Log].
func (l *memoryLog) Close() error { return nil }

type memoryBlobs Memory

func (b *memoryBlobs) Put(_ context.Context, digest string, content []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blobs[digest] = slices.Clone(content)
	return nil
}

func (b *memoryBlobs) Get(_ context.Context, digest string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if content, ok := b.blobs[digest]; ok {
		return content, nil
	}
	return nil, fs.ErrNotExist
}
