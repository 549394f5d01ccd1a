package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/haftdev/haft/internal/sys/regular"
)

// A journal is a [Log] in a file. The lock of the session is its fence. The first write
// opens it.
type journal struct {
	path  string
	fresh bool // the file must not exist yet

	mu   sync.Mutex
	file *os.File
	size int64 // what was written through this journal

	syncing sync.Mutex
	synced  int64 // how much of size is on the disk
}

// errInUse is what a new session's file is if it already exists.
var errInUse = errors.New("the session id is in use")

// Append implements [Log] with one system call. If the disk is full, the existing content
// is untouched. It does not check where the file ends: the lock guarantees that there is no
// other writer.
func (j *journal) Append(_ context.Context, after Pos, lines []byte) (Pos, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.open(); err != nil {
		return after, err
	}
	n, err := j.file.Write(lines)
	j.size += int64(n)
	after.Seq += uint64(n)
	if errors.Is(err, syscall.ENOSPC) {
		return after, fmt.Errorf("write session: %w; nothing written earlier is lost. Free some space and continue", err)
	}
	if err != nil {
		return after, fmt.Errorf("write session: %w", err)
	}
	return after, nil
}

func (j *journal) open() error {
	if j.file != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
		return fmt.Errorf("make the session's folder: %w", err)
	}
	flags := os.O_WRONLY | os.O_APPEND | os.O_CREATE
	if j.fresh {
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(j.path, flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %s exists", errInUse, j.path)
	}
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	j.file, j.fresh = file, false
	return nil
}

// Sync implements [Log]. Callers that arrive during a sync share the next one.
func (j *journal) Sync(context.Context) error {
	j.mu.Lock()
	file, size := j.file, j.size
	j.mu.Unlock()
	if file == nil {
		return nil
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= size {
		return nil
	}
	j.mu.Lock()
	size = j.size
	j.mu.Unlock()
	if err := datasync(file); err != nil {
		return fmt.Errorf("sync session: %w", err)
	}
	j.synced = size
	return nil
}

// Back implements [Log].
func (j *journal) Back(context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		file, err := regular.Open(j.path)
		if err != nil {
			yield(nil, fmt.Errorf("open session: %w", err))
			return
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			yield(nil, fmt.Errorf("open session: %w", err))
			return
		}
		backward(file, info.Size())(yield)
	}
}

const (
	firstChunk   = 32 << 10
	largestChunk = 1 << 20
)

// backward reads the first size bytes of a file from their end, in pieces that grow.
func backward(file io.ReaderAt, size int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for chunk := int64(firstChunk); size > 0; chunk = min(2*chunk, largestChunk) {
			n := min(chunk, size)
			buf := make([]byte, n)
			if _, err := file.ReadAt(buf, size-n); err != nil && err != io.EOF {
				yield(nil, fmt.Errorf("read session: %w", err))
				return
			}
			if size -= n; !yield(buf, nil) {
				return
			}
		}
	}
}

// Close implements [Log].
func (j *journal) Close() error {
	err := j.Sync(context.Background())
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return err
	}
	err = errors.Join(err, j.file.Close())
	j.file = nil
	return err
}
