package api

import (
	"context"
	"io"
)

// aheadMost is how many reads of what a program says are kept until a worker hears it.
const aheadMost = 64

// readAhead reads what a program says. Gone ends when the program has, even while nobody hears
// it yet: the wait for a worker ends then.
func readAhead(ctx context.Context, conn io.Reader) (said io.Reader, gone context.Context) {
	gone, end := context.WithCancel(ctx)
	parts := make(chan []byte, aheadMost)
	r, w := io.Pipe()
	go func() {
		defer end()
		defer close(parts)
		for {
			part := make([]byte, 32<<10)
			n, err := conn.Read(part)
			select {
			case parts <- part[:n]:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		for part := range parts {
			if _, err := w.Write(part); err != nil {
				break
			}
		}
		w.Close()
	}()
	context.AfterFunc(ctx, func() { r.Close() })
	return r, gone
}

// tail keeps the last bytes that were written.
type tail struct {
	io.Writer
	end []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-100):]
	return t.Writer.Write(p)
}
