package hook

import (
	"bytes"
	"strings"
	"sync"
)

const (
	maxOutput = 1 << 20  // of what is read as an answer, in bytes
	maxStderr = 16 << 10 // the end of which is kept, in bytes
	maxStdout = 16 << 10 // the beginning of which is reported, in bytes
)

// beginning is as much of an output as is reported.
func beginning(text []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimSpace(text[:min(len(text), maxStdout)])), "")
}

// A head keeps the first bytes written to it and counts the rest.
type head struct {
	mu      sync.Mutex // a write may come when no one waits any longer
	text    []byte
	dropped int64
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	keep := min(len(p), maxOutput-len(h.text))
	h.text = append(h.text, p[:keep]...)
	h.dropped += int64(len(p) - keep)
	return len(p), nil
}

func (h *head) get() (text []byte, dropped int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text, h.dropped
}

// A tail keeps the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxStderr):]...)
	if extra := len(t.text) - maxStderr; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

func (t *tail) get() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
