// Package audit keeps the record of verdicts: one line per verdict, appended and
// never changed, so that what was allowed can be explained afterwards.
//
// A Log is safe for concurrent use, also by several processes: a line is one
// write to a file opened for appending, which stays open until Close. The log holds the inputs of calls, or the
// beginning and the digest of long ones, and lies in the user's own folder,
// readable by nobody else. It is bounded: a file that is full is put aside, and of
// those the oldest are removed.
package audit

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// An Entry is one verdict and what made it.
type Entry struct {
	Time    time.Time `json:"time"`
	Session string    `json:"session,omitempty"`
	UseID   string    `json:"tool_use_id"`
	Agent   string    `json:"agent,omitempty"`
	Tool    string    `json:"tool"`
	// Input is that of the call. One that is too long is written as its beginning, its
	// size and the SHA-256 of all of it.
	Input       json.RawMessage `json:"input,omitempty"`
	InputHead   string          `json:"input_head,omitempty"`
	InputBytes  int             `json:"input_bytes,omitempty"`
	InputDigest string          `json:"input_sha256,omitempty"`
	Mode        string          `json:"mode,omitempty"`
	Behavior    string          `json:"behavior"`
	Reason      string          `json:"reason,omitempty"`
	Rule        string          `json:"rule,omitempty"`
	Origin      string          `json:"origin,omitempty"`
	Approved    string          `json:"approved,omitempty"` // the digest of the change that was approved
	Confinement string          `json:"confinement,omitempty"`
	Cwd         string          `json:"cwd,omitempty"`
}

// bound shortens an input that is too long.
func (e *Entry) bound(most int) {
	if len(e.Input) <= most {
		return
	}
	sum := sha256.Sum256(e.Input)
	e.InputHead, e.InputBytes, e.InputDigest = strings.ToValidUTF8(string(e.Input[:most]), ""), len(e.Input), hex.EncodeToString(sum[:])
	e.Input = nil
}

// encode is [json.Marshal] of an entry in a fraction of its time: there is one for every call.
func (e *Entry) encode() ([]byte, error) {
	b := make([]byte, 0, 512+len(e.Input)+len(e.InputHead)+len(e.Reason))
	b = append(b, `{"time":"`...)
	b = append(e.Time.AppendFormat(b, time.RFC3339Nano), '"')
	text := func(name, value string) {
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = plainjson.AppendString(b, value)
	}
	optional := func(name, value string) {
		if value != "" {
			text(name, value)
		}
	}
	optional("session", e.Session)
	text("tool_use_id", e.UseID)
	optional("agent", e.Agent)
	text("tool", e.Tool)
	if len(e.Input) > 0 {
		var err error
		if b, err = plainjson.AppendCompact(append(b, `,"input":`...), e.Input); err != nil {
			return nil, fmt.Errorf("encode the input: %w", err)
		}
	}
	optional("input_head", e.InputHead)
	if e.InputBytes != 0 {
		b = fmt.Appendf(b, `,"input_bytes":%d`, e.InputBytes)
	}
	optional("input_sha256", e.InputDigest)
	optional("mode", e.Mode)
	text("behavior", e.Behavior)
	optional("reason", e.Reason)
	optional("rule", e.Rule)
	optional("origin", e.Origin)
	optional("approved", e.Approved)
	optional("confinement", e.Confinement)
	optional("cwd", e.Cwd)
	return append(b, '}'), nil
}

// HookFailed is the behavior of an entry about a hook that failed: its name is the Rule, and
// Cwd is the project's folder.
const HookFailed = "hook failed"

// A Log appends entries to a file.
type Log struct {
	path string
	opts Options

	mu   sync.Mutex
	file *os.File    // nil until the first entry
	info fs.FileInfo // of file
}

// Options bound a log. A nil *Options means all zero values.
type Options struct {
	// Input is how many bytes of an input are kept; 0 means 4096.
	Input int
	// File is how many bytes a file may have before it is put aside; 0 means 16 MB.
	File int64
	// Files is how many files that were put aside are kept; 0 means 3.
	Files int
}

// NewLog returns the log at path. The file and its folder are made when first needed.
func NewLog(path string, opts *Options) *Log {
	l := &Log{path: path}
	if opts != nil {
		l.opts = *opts
	}
	l.opts.Input = cmp.Or(l.opts.Input, 4096)
	l.opts.File = cmp.Or(l.opts.File, 16<<20)
	l.opts.Files = cmp.Or(l.opts.Files, 3)
	return l
}

// Append writes an entry down. The verdict must not take effect if it cannot.
func (l *Log) Append(e Entry) error {
	e.bound(l.opts.Input)
	line, err := e.encode()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	size, err := l.open()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("audit: %w", errors.Join(err, l.close()))
	}
	full := size+int64(len(line)) >= l.opts.File
	if full {
		l.putAside()
	}
	if full || runtime.GOOS == "windows" { // where nobody can rename a file that is open
		if err := l.close(); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	return nil
}

// Close closes the file. An entry that is appended later opens it again.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.close()
}

func (l *Log) close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file, l.info = nil, nil
	return err
}

// open makes sure that the open file is the one at the log's path, which another process may have put aside, and returns
// how long it is. It makes the folder only if that is missing.
func (l *Log) open() (size int64, err error) {
	if l.file != nil {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.info) {
			return now.Size(), nil
		}
		_ = l.close() // every line was written in full
	}
	// Otherwise the file is made non-blocking and, since that is of no use, blocking again.
	const flags = os.O_APPEND | os.O_CREATE | os.O_WRONLY | syscall.O_NONBLOCK
	l.file, err = os.OpenFile(l.path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
			return 0, err
		}
		l.file, err = os.OpenFile(l.path, flags, 0o600)
	}
	if err != nil {
		l.file = nil
		return 0, err
	}
	if l.info, err = l.file.Stat(); err != nil {
		return 0, errors.Join(err, l.close())
	}
	return l.info.Size(), nil
}

// putAside gives a file that is full another name. Who has it open continues to write
// to it, so that nothing is lost; if two processes come to it at once, the second
// may put a short one aside. What cannot be renamed grows on.
func (l *Log) putAside() {
	if now, err := os.Stat(l.path); err != nil || !os.SameFile(now, l.info) {
		return // another process has already rotated the file
	}
	base, ext := l.split()
	if os.Rename(l.path, fmt.Sprintf("%s-%020d%s", base, time.Now().UnixNano(), ext)) != nil {
		return
	}
	if aside := l.aside(); len(aside) > l.opts.Files {
		for _, old := range aside[:len(aside)-l.opts.Files] {
			os.Remove(old) // another process may have removed it
		}
	}
}

func (l *Log) split() (base, ext string) {
	ext = filepath.Ext(l.path)
	return strings.TrimSuffix(l.path, ext), ext
}

// aside returns the files that were put aside, oldest first.
func (l *Log) aside() []string {
	base, ext := l.split()
	entries, err := os.ReadDir(filepath.Dir(l.path))
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		stamp, ok := strings.CutPrefix(e.Name(), filepath.Base(base)+"-")
		if stamp, isLog := strings.CutSuffix(stamp, ext); ok && isLog && len(stamp) == 20 && strings.Trim(stamp, "0123456789") == "" {
			files = append(files, filepath.Join(filepath.Dir(l.path), e.Name()))
		}
	}
	slices.Sort(files)
	return files
}

// Find returns the entries about a call, oldest first. A line that was cut by a
// crash is passed over.
func (l *Log) Find(useID string) ([]Entry, error) {
	return l.all(func(e *Entry) bool { return e.UseID == useID })
}

// HookFailures returns the entries about hooks of a project that have failed since a time,
// oldest first.
func (l *Log) HookFailures(project string, since time.Time) ([]Entry, error) {
	return l.all(func(e *Entry) bool { return e.Behavior == HookFailed && e.Cwd == project && e.Time.After(since) })
}

func (l *Log) all(wanted func(*Entry) bool) ([]Entry, error) {
	var found []Entry
	for _, path := range append(l.aside(), l.path) {
		more, err := find(path, wanted)
		found = append(found, more...)
		if err != nil {
			return found, fmt.Errorf("audit: %w", err)
		}
	}
	return found, nil
}

func find(path string, wanted func(*Entry) bool) (found []Entry, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		var e Entry
		if json.Unmarshal(line, &e) == nil && wanted(&e) {
			found = append(found, e)
		}
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return found, err
		}
	}
}
