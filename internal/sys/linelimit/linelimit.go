// Package linelimit bounds the lines of a stream whose other end is not trusted. Readers of lines
// hold each one in memory as a whole, so that one line without an end would take all of it.
//
//	lines := bufio.NewReader(linelimit.Reader(conn))
//
// A reader is for one goroutine, as the stream is.
package linelimit

import (
	"bytes"
	"errors"
	"io"
)

// Max is how long a line may be, in bytes: as long as a message of an MCP server.
const Max = 64 << 20

// ErrLong is the error of a line that is longer. Nothing more is read.
var ErrLong = errors.New("it sent a line of more than 64 MB, which haft does not read")

// Reader returns a reader of r that fails with [ErrLong] in a line that is too long.
func Reader(r io.Reader) io.Reader { return &reader{in: r} }

type reader struct {
	in   io.Reader
	size int // of the line so far
}

func (r *reader) Read(p []byte) (int, error) {
	if r.size > Max {
		return 0, ErrLong
	}
	n, err := r.in.Read(p)
	r.size += n
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		r.size = n - i - 1
	}
	return n, err
}
