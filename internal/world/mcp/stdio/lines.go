package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLong says that a line was longer than allowed; its beginning is known.
var errLong = errors.New("line too long")

// A lineReader reads lines of bounded length. What follows a line that is too
// long is read past, not kept, and the next line is whole again.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// headLength is how much is known of a line that is too long.
const headLength = 4 << 10

// next returns the next line without its end. The bytes are the caller's.
func (l *lineReader) next() ([]byte, error) {
	var parts [][]byte
	size := 0
	for {
		part, err := l.r.ReadSlice('\n')
		size += len(part)
		switch {
		case size > l.max:
			return l.skip(parts, part, err)
		case err == bufio.ErrBufferFull:
			parts = append(parts, bytes.Clone(part))
		case err != nil && size == 0:
			return nil, err
		default: // a whole line, or the last one without its end
			return join(parts, part, size), nil
		}
	}
}

// skip reads to the end of a line that is too long and returns its beginning.
func (l *lineReader) skip(parts [][]byte, part []byte, err error) ([]byte, error) {
	head := join(parts[:min(len(parts), 1)], part, headLength)
	head = bytes.Clone(head[:min(len(head), headLength)])
	for err == bufio.ErrBufferFull {
		_, err = l.r.ReadSlice('\n')
	}
	return head, errLong
}

func join(parts [][]byte, last []byte, size int) []byte {
	line := make([]byte, 0, size)
	for _, p := range parts {
		line = append(line, p...)
	}
	return append(line, last...)
}
