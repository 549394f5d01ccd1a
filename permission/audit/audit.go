// Package audit keeps the record of verdicts: one line per verdict, appended and
// never changed, so that what was allowed can be explained afterwards.
//
// A Log is safe for concurrent use, also by several processes: a line is one
// write to a file opened for appending. The log holds the inputs of calls and
// lies in the person's own folder, readable by nobody else.
package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// An Entry is one verdict and what made it.
type Entry struct {
	Time     time.Time       `json:"time"`
	Session  string          `json:"session,omitempty"`
	UseID    string          `json:"tool_use_id"`
	Agent    string          `json:"agent,omitempty"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input,omitempty"`
	Mode     string          `json:"mode,omitempty"`
	Behavior string          `json:"behavior"`
	Reason   string          `json:"reason,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Origin   string          `json:"origin,omitempty"`
	Cwd      string          `json:"cwd,omitempty"`
}

// A Log appends entries to a file.
type Log struct{ path string }

// NewLog returns the log at path. The file and its folder are made when first needed.
func NewLog(path string) *Log { return &Log{path} }

// Append writes an entry down. The verdict must not take effect if it cannot.
func (l *Log) Append(e Entry) (err error) {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Find returns the entries about a call, oldest first. A line that was cut by a
// crash is passed over.
func (l *Log) Find(useID string) ([]Entry, error) {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	var found []Entry
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.UseID == useID {
			found = append(found, e)
		}
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return found, fmt.Errorf("audit: %w", err)
		}
	}
}
