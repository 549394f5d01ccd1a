package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
)

// A journal is a file that only grows. It is opened by the first write.
type journal struct {
	path  string
	fresh bool // the file must not exist yet

	mu   sync.Mutex
	file *os.File
	size int64 // what was written through this journal
	torn bool  // the file's last line is not whole

	syncing sync.Mutex
	synced  int64 // how much of size is on the disk
	soon    atomic.Bool
	pending sync.WaitGroup
}

// errInUse is what a new session's file is if it already exists.
var errInUse = errors.New("the session id is in use")

// write adds whole lines with one system call. If the disk is full, what the file
// had is untouched, and the part of a line that may be there is made harmless by
// the next write.
func (j *journal) write(lines []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.open(); err != nil {
		return err
	}
	if j.torn {
		lines = append([]byte("\n"), lines...)
	}
	n, err := j.file.Write(lines)
	j.size += int64(n)
	switch {
	case err == nil:
		j.torn = false
	case n > 0:
		j.torn = true
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("write session: %w; nothing that was written before is lost. Make room and go on", err)
	}
	if err != nil {
		return fmt.Errorf("write session: %w", err)
	}
	return nil
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

// sync waits until what was written is on the disk. Those who come while one
// waits share the next wait.
func (j *journal) sync() error {
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

// syncSoon brings what was written to the disk while the caller goes on. An error
// shows at the next sync.
func (j *journal) syncSoon() {
	if !j.soon.CompareAndSwap(false, true) {
		return
	}
	j.pending.Go(func() {
		j.soon.Store(false)
		_ = j.sync()
	})
}

func (j *journal) close() error {
	j.pending.Wait()
	err := j.sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return err
	}
	err = errors.Join(err, j.file.Close())
	j.file = nil
	return err
}
