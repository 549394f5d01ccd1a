package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A tail is the lines at the end of a journal. It grows towards the beginning of
// the file, a boundary at a time, until what is asked for is in it.
type tail struct {
	file  *os.File
	start int64 // where the first line begins
	lines []*line
	// damaged counts lines that could not be read; torn is set if the file's last
	// line is not whole.
	damaged int
	torn    bool
}

const chunk = 256 << 10

// openTail opens the journal at path. Nothing is read yet.
func openTail(path string) (*tail, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("open session: %w", err)
	}
	t := &tail{file: file, start: info.Size()}
	if t.start > 0 {
		var last [1]byte
		if _, err := file.ReadAt(last[:], t.start-1); err != nil {
			file.Close()
			return nil, fmt.Errorf("read session: %w", err)
		}
		t.torn = last[0] != '\n'
	}
	return t, nil
}

func (t *tail) close() { t.file.Close() }

// whole reports whether the tail reaches the beginning of the file.
func (t *tail) whole() bool { return t.start == 0 }

// grow reads back to the boundary before the lines that were read, or to the
// beginning of the file.
func (t *tail) grow() error {
	var before []*line // backwards
	for !t.whole() {
		lines, err := t.back()
		if err != nil {
			return err
		}
		found := false
		for i := len(lines) - 1; i >= 0; i-- {
			before = append(before, lines[i])
			found = found || lines[i].isBoundary()
		}
		if found {
			break
		}
	}
	all := make([]*line, 0, len(before)+len(t.lines))
	for i := len(before) - 1; i >= 0; i-- {
		all = append(all, before[i])
	}
	t.lines = append(all, t.lines...)
	return nil
}

// back reads the lines of the chunk before start. A line that is longer makes the
// chunk longer.
func (t *tail) back() ([]*line, error) {
	for size := int64(chunk); ; size *= 2 {
		from := max(0, t.start-size)
		buf := make([]byte, t.start-from)
		if _, err := t.file.ReadAt(buf, from); err != nil && err != io.EOF {
			return nil, fmt.Errorf("read session: %w", err)
		}
		skip := 0
		if from > 0 {
			skip = bytes.IndexByte(buf[:len(buf)-1], '\n') + 1
			if skip == 0 {
				continue
			}
		}
		end := t.start
		t.start = from + int64(skip)
		return t.parse(buf[skip:], end), nil
	}
}

// parse reads lines. What is not JSON is counted and left out; the zeros that a
// file system leaves after a power failure are not.
func (t *tail) parse(buf []byte, end int64) []*line {
	var lines []*line
	at := end - int64(len(buf))
	for raw := range bytes.Lines(buf) {
		at += int64(len(raw))
		raw = bytes.Trim(raw, "\x00 \t\r\n")
		if len(raw) == 0 {
			continue
		}
		l := &line{end: at}
		if json.Unmarshal(raw, l) != nil {
			t.damaged++
			continue
		}
		lines = append(lines, l)
	}
	return lines
}
