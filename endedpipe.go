package haft

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// When a process has ended, its last output is still in its pipes, but a process that it
// started may hold them open forever. So a pipe counts as closed when it has been silent
// for lingering, and in any case after lingeringMost.
const (
	lingering     = time.Second
	lingeringMost = 10 * time.Second
)

// An outlet reads what a process writes, to the end.
type outlet struct {
	file *os.File
	// ended is when the process ended, nil before.
	ended atomic.Pointer[time.Time]
}

// writerEnded says that the process has ended.
func (o *outlet) writerEnded() {
	now := time.Now()
	o.ended.Store(&now)
	o.hurry() // a Read that waits already
}

func (o *outlet) hurry() { _ = o.file.SetReadDeadline(time.Now().Add(lingering)) }

func (o *outlet) Read(p []byte) (int, error) {
	if ended := o.ended.Load(); ended != nil {
		if time.Since(*ended) > lingeringMost {
			return 0, io.EOF
		}
		o.hurry()
	}
	n, err := o.file.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}
