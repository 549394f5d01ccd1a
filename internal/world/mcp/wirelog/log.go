// Package wirelog writes down what is said between a host and its MCP servers, and
// plays it back.
//
//	log := wirelog.New(dir, nil)
//	defer log.Close()
//	host := mcp.NewHost(&mcp.Options{OnMessage: log.Message})
//
// Each server has a file of one [Record] per line, which is readable by its owner
// only and has two generations, so that it never grows beyond twice its limit.
// Several processes may write to it. What cannot be written is dropped: a log is
// not worth a session.
//
// A Log is safe for concurrent use. [Replay] has a host talk to the server that a
// log recorded, and tells what the host makes of it.
//
// # What is kept out
//
// Values whose names or looks are those of secrets, and the values that
// Options.Secrets names, are replaced before anything is written; so are messages
// that are too long. What a tool is asked and answers otherwise stands in the log.
package wirelog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/text/redact"
)

// A Record is one message.
type Record struct {
	At      time.Time       `json:"at"`
	PID     int             `json:"pid"`
	Sent    bool            `json:"sent,omitempty"` // by the host
	Message json.RawMessage `json:"message"`
}

// Options configure a Log. A nil *Options means all zero values.
type Options struct {
	// MaxBytes is when a file is replaced by a new one; 0 means 4 MiB. One
	// generation before it is kept.
	MaxBytes int64
	// Secrets returns what must not stand in the log of a server besides what looks
	// like a secret; nil means nothing.
	Secrets func(server string) []string
}

// A Log writes the messages of servers down.
type Log struct {
	dir  string
	opts Options

	mu    sync.Mutex
	files map[string]*file
}

// A file is the log of one server.
type file struct {
	path string
	out  *os.File // nil if it cannot be written
	mask *mask
}

// New returns a log below dir, which is made when it is first needed.
func New(dir string, opts *Options) *Log {
	l := &Log{dir: dir, files: map[string]*file{}}
	if opts != nil {
		l.opts = *opts
	}
	if l.opts.MaxBytes == 0 {
		l.opts.MaxBytes = 4 << 20
	}
	return l
}

// Path is the file of a server in dir.
func Path(dir, server string) string {
	name := url.PathEscape(server)
	return filepath.Join(dir, name[:min(len(name), 200)]+".jsonl")
}

// Older is the generation before a file.
func Older(path string) string { return path + ".1" }

// Message writes one message down; it fits mcp.Options.OnMessage.
func (l *Log) Message(server string, sent bool, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.file(server)
	if f.out == nil {
		return
	}
	line, err := json.Marshal(Record{At: time.Now().UTC(), PID: os.Getpid(), Sent: sent, Message: f.mask.message(message)})
	if err != nil {
		return
	}
	_, _ = f.out.Write(append(line, '\n')) // one write, so that those of other processes stay apart
	if info, err := f.out.Stat(); err == nil && info.Size() > l.opts.MaxBytes {
		f.rotate(info)
	}
}

func (l *Log) file(server string) *file {
	f := l.files[server]
	if f != nil {
		return f
	}
	f = &file{path: Path(l.dir, server), mask: new(mask)}
	if l.opts.Secrets != nil {
		f.mask = &mask{redact.New(l.opts.Secrets(server))}
	}
	l.files[server] = f
	if os.MkdirAll(l.dir, 0o700) == nil {
		f.open()
	}
	return f
}

func (f *file) open() {
	out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		f.out = out
	}
}

// rotate begins a new file, unless another process has done so already.
func (f *file) rotate(full os.FileInfo) {
	if now, err := os.Stat(f.path); err == nil && os.SameFile(now, full) {
		_ = os.Rename(f.path, Older(f.path)) // else it grows until it can be
	}
	f.out.Close()
	f.out = nil
	f.open()
}

// Close closes the files. A nil Log has none.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for server, f := range l.files {
		if f.out != nil {
			if err := f.out.Close(); err != nil {
				return fmt.Errorf("close the log of %s: %w", server, err)
			}
			f.out = nil
		}
	}
	return nil
}
