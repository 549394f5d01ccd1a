package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// A tail is the lines at the end of a journal. It grows towards the beginning of
// the file, a compaction at a time, until what is asked for is in it.
type tail struct {
	file  *os.File
	size  int64
	lines []*line
	// damaged counts lines that could not be read; torn is set if the file's last
	// line is not whole.
	damaged int
	torn    bool

	buf   []byte // what was read and not looked at
	from  int64  // where it begins in the file
	chunk int64  // how much is read next
	floor int64  // where reading ends, in place of the beginning of the file
}

const (
	firstChunk   = 32 << 10
	largestChunk = 1 << 20
)

// whole reports whether the tail reaches the beginning of the file.
func (t *tail) whole() bool { return t.from == 0 && len(t.buf) == 0 }

// atFloor reports whether the tail reaches where reading ends.
func (t *tail) atFloor() bool { return t.floor > 0 && t.from+int64(len(t.buf)) <= t.floor }

// grow reads back to the compaction before the lines that were read, or to the
// beginning of the file.
func (t *tail) grow() error {
	slices.Reverse(t.lines)
	defer func() { slices.Reverse(t.lines) }()
	for !t.whole() && !t.atFloor() {
		end := t.from + int64(len(t.buf))
		raw, err := t.previous()
		if err != nil {
			return err
		}
		if end == t.size {
			t.torn = !bytes.HasSuffix(raw, []byte("\n"))
		}
		l := t.parse(raw)
		if l == nil {
			continue
		}
		l.end = end
		t.lines = append(t.lines, l)
		if l.isBoundary() {
			break
		}
	}
	return nil
}

// previous returns the line before those that were looked at.
func (t *tail) previous() ([]byte, error) {
	for {
		i := -1
		if len(t.buf) > 0 {
			i = bytes.LastIndexByte(t.buf[:len(t.buf)-1], '\n')
		}
		if i >= 0 || t.from == 0 {
			raw := t.buf[i+1:]
			t.buf = t.buf[:i+1]
			return raw, nil
		}
		if err := t.back(); err != nil {
			return nil, err
		}
	}
}

// back reads the chunk before what was read. Chunks grow, and a line that is
// longer than one makes the next as long as itself.
func (t *tail) back() error {
	n := min(max(t.chunk, int64(len(t.buf))), t.from)
	t.chunk = min(2*t.chunk, largestChunk)
	buf := make([]byte, n+int64(len(t.buf)))
	if _, err := t.file.ReadAt(buf[:n], t.from-n); err != nil && err != io.EOF {
		return fmt.Errorf("read session: %w", err)
	}
	copy(buf[n:], t.buf)
	t.buf, t.from = buf, t.from-n
	return nil
}

// parse reads a line, or returns nil. What is not JSON is counted; the zeros that
// a file system leaves after a power failure are not.
func (t *tail) parse(raw []byte) *line {
	raw = bytes.Trim(raw, "\x00 \t\r\n")
	if len(raw) == 0 {
		return nil
	}
	l := &line{}
	if json.Unmarshal(raw, l) != nil {
		t.damaged++
		return nil
	}
	if l.isLink() {
		l.raw = bytes.Clone(raw)
	}
	return l
}
