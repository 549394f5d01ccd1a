package wire

import (
	"fmt"
	"io"
	"sync"
)

// A Writer writes messages, one per line. Each line is one call of the underlying Write, so
// nothing stays in a buffer. The first error of the stream is returned by every later call,
// because nothing after half a line could be parsed. If a message cannot be encoded, only
// that call fails.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

// NewWriter returns a Writer to w. Writing blocks as long as w does; a caller that must not
// wait for a stalled reader passes a w that can be closed or that has a deadline.
func NewWriter(w io.Writer) *Writer { return &Writer{out: w} }

// Write writes one message.
func (w *Writer) Write(m Message) error {
	line, err := Encode(m)
	if err != nil {
		return err
	}
	return w.write(append(line, '\n'))
}

func (w *Writer) write(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	n, err := w.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("write message: %w", err)
	}
	return w.err
}

// Err returns the error that made the Writer useless, if there was one.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
