package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// An Event is one of a stream. Its parts are valid until the next one is read.
type Event struct {
	Name []byte // empty if the server gave none
	Data []byte
}

// maxEvent is how large an event may be. The largest that models send are search
// results of a few megabytes.
const maxEvent = 64 << 20

var errTooLarge = errors.New("one event is larger than 64 MB")

// A reader takes server-sent events from a body: lines end in LF or CR LF,
// comments and unknown fields mean nothing, and what is not closed by an empty
// line was never sent. It looks at each byte once.
type reader struct {
	in         *bufio.Reader
	name, data []byte
	long       []byte // a line that did not fit the buffer
	started    bool
	limit      int // is maxEvent, but in tests
}

// newReader returns a reader of events.
func newReader(r io.Reader) *reader { return &reader{in: bufio.NewReader(r), limit: maxEvent} }

// next returns the next event; io.EOF after the last one, io.ErrUnexpectedEOF if
// the body ended within one.
func (r *reader) next() (Event, error) {
	r.name, r.data = r.name[:0], r.data[:0]
	within := false
	for {
		line, err := r.line()
		if err != nil {
			if err == io.EOF && (within || len(line) > 0) {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		switch {
		case len(line) > 0:
			within = r.field(line) || within
		case len(r.data) > 0:
			return Event{r.name, r.data[:len(r.data)-1]}, nil
		default:
			r.name, within = r.name[:0], false
		}
		if len(r.data) > r.limit {
			return Event{}, errTooLarge
		}
	}
}

// field takes a line in, and reports whether it belongs to an event.
func (r *reader) field(line []byte) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		r.data = append(append(r.data, value...), '\n')
	case "event":
		r.name = append(r.name[:0], value...)
	}
	return len(name) > 0
}

// line returns the next line without its end.
func (r *reader) line() ([]byte, error) {
	line, err := r.rawLine()
	if !r.started {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		r.started = true
	}
	if err != nil {
		return line, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// rawLine returns the bytes up to and with the next LF.
func (r *reader) rawLine() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	r.long = append(r.long[:0], line...)
	for err == bufio.ErrBufferFull {
		if len(r.long) > r.limit {
			return nil, errTooLarge
		}
		line, err = r.in.ReadSlice('\n')
		r.long = append(r.long, line...)
	}
	return r.long, err
}
