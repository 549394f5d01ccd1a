package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/haftdev/haft/fleet/internal/archive"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/session"
)

// A Mirror copies journals into files for those who read, in the layout of haft's own
// sessions. A place in such a file is the same in every mirror and in the sealed file. The
// files are written again by each process, and can be removed when none runs.
//
// A Mirror is safe for concurrent use.
type Mirror struct {
	logs *Logs
	dir  string

	mu     sync.Mutex
	copies map[string]*progress
}

// progress records how much of a session has been copied.
type progress struct {
	mu   sync.Mutex
	next uint64 // the first number in the stream that was not looked at; 0 if nothing was
	ends map[string]session.Pos
	rest map[string][]byte // of a line whose end has not come
	// sizes are how much of each file is whole: an append that failed may leave more.
	sizes map[string]int64
}

// Store is the mirror as a store of sessions.
func (m *Mirror) Store() *session.Store { return session.Open(m.dir) }

// project is the one folder of the sessions: where they work does not matter here.
const project = "fleet"

// Path is the file of a session; "" if the id cannot be that of one.
func (m *Mirror) Path(id string) string {
	if !engine.Word(id) {
		return ""
	}
	return filepath.Join(m.dir, project, id+".jsonl")
}

// Forget removes the copy of a session.
func (m *Mirror) Forget(id string) error {
	c := m.hold(id)
	defer c.mu.Unlock()
	m.mu.Lock()
	delete(m.copies, id)
	m.mu.Unlock()
	return m.remove(id)
}

// hold returns what is known of the copy of a session, locked: one that was forgotten while its
// lock was waited for is not it any more.
func (m *Mirror) hold(id string) *progress {
	for {
		m.mu.Lock()
		c := m.copies[id]
		if c == nil {
			c = &progress{ends: map[string]session.Pos{}, rest: map[string][]byte{}, sizes: map[string]int64{}}
			m.copies[id] = c
		}
		m.mu.Unlock()
		c.mu.Lock()
		m.mu.Lock()
		current := m.copies[id] == c
		m.mu.Unlock()
		if current {
			return c
		}
		c.mu.Unlock()
	}
}

// remove removes files of a session. An id that is more than a name would be another folder.
func (m *Mirror) remove(id string) error {
	if !engine.Word(id) {
		return fmt.Errorf("%q is not a valid session id", id)
	}
	return errors.Join(os.RemoveAll(m.Path(id)), os.RemoveAll(filepath.Join(m.dir, project, id)))
}

// Refresh copies what was appended to the journal of a session. The error is a
// [DamagedError] if entries are missing or changed.
func (m *Mirror) Refresh(ctx context.Context, id string) error {
	if !engine.Word(id) {
		return fmt.Errorf("copy the journal: %q is not a valid session id", id)
	}
	c := m.hold(id)
	defer c.mu.Unlock()
	if c.next == 0 {
		if err := m.remove(id); err != nil {
			return fmt.Errorf("copy the journal: %w", err)
		}
		if _, _, err := m.logs.open(ctx, id, mainName); err != nil { // it looks whether the end is there
			return err
		}
		c.next = 1
	}
	for {
		e, subject, err := m.logs.after(ctx, id, c.next)
		if err != nil || e == nil {
			return err
		}
		if e.after != c.ends[subject] || e.tip() != e.pos.Tip {
			return m.logs.report(&DamagedError{ID: id, Why: fmt.Sprintf("entry %d does not follow the one before it", e.pos.Seq)})
		}
		if err := m.add(ctx, id, c, subject, e); err != nil {
			return fmt.Errorf("copy the journal: %w", err)
		}
		c.next, c.ends[subject] = e.pos.Seq+1, e.pos
	}
}

// add copies the lines that an entry completes. The contents that they refer to come first:
// who reads a line finds them.
func (m *Mirror) add(ctx context.Context, id string, c *progress, subject string, e *entry) error {
	text := append(c.rest[subject], e.body...)
	end := bytes.LastIndexByte(text, '\n') + 1
	if end > 0 {
		to, err := archive.Open(filepath.Join(m.dir, project), os.Getenv)
		if err == nil {
			err = m.logs.keepBlobs(ctx, text[:end], to)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		path := m.Path(id)
		if agent, ok := strings.CutPrefix(subject[strings.LastIndexByte(subject, '.')+1:], agentPrefix); ok {
			path = filepath.Join(m.dir, project, id, "subagents", "agent-"+agent+".jsonl")
		}
		if err := appendFile(path, c.sizes[subject], text[:end]); err != nil {
			return err
		}
		if err := os.Chtimes(path, e.at, e.at); err != nil {
			return err
		}
		c.sizes[subject] += int64(end)
	}
	c.rest[subject] = bytes.Clone(text[end:])
	return nil
}

// appendFile appends to a file of a size. What is behind that is left of an append that failed.
func appendFile(path string, size int64, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if info, statErr := file.Stat(); statErr != nil {
		err = statErr
	} else if info.Size() > size {
		err = file.Truncate(size)
	}
	if err == nil {
		_, err = file.Write(text)
	}
	return errors.Join(err, file.Close())
}
