package wire

import (
	"fmt"
	"io"
	"sync"
)

// A Writer writes messages, one per line. Each line is one call of the
// underlying Write, so nothing is left in a buffer. The first error of the
// stream is the error of every later call: after half a line nothing that
// follows could be read. A message that cannot be encoded is only its own error.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

// NewWriter returns a Writer to w. Writing blocks as long as w does; a caller that
// must not wait for a reader that stopped gives a w that can be closed or that
// has a deadline.
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
