package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// keepBuffer is the largest line buffer that a Reader keeps for the next line, so that one
// huge line does not take its memory forever.
const keepBuffer = 1 << 20

// A Reader reads messages, one per line. Lines may have any length; a line is held in
// memory as a whole, but only while it is read. Blank lines are skipped.
type Reader struct {
	in   *bufio.Reader
	buf  []byte
	line int
	err  error
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10)}
}

// A LineError is a line that is not a message. The lines after it can still be read.
type LineError struct {
	// Line counts from 1.
	Line int
	// Excerpt is the beginning of the line.
	Excerpt string
	// Err says why; it is io.ErrUnexpectedEOF if the stream ended inside the line.
	Err error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %v: %q", e.Line, e.Err, e.Excerpt)
}

func (e *LineError) Unwrap() error { return e.Err }

// Read returns the next message. An error is either a *[LineError], after which reading
// continues, or final: io.EOF at the end of the stream.
func (r *Reader) Read() (Message, error) {
	for {
		line, err := r.next()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			continue
		}
		m, err := Decode(line)
		if err == nil {
			return m, nil
		}
		if r.err == io.EOF { // the last line has no end: it is cut, not malformed
			err = io.ErrUnexpectedEOF
		}
		return nil, &LineError{Line: r.line, Excerpt: excerpt(line), Err: err}
	}
}

// All yields what Read returns, up to the end of the stream. A final error other than
// io.EOF is yielded, too.
func (r *Reader) All() iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			m, err := r.Read()
			if err == io.EOF || !yield(m, err) {
				return
			}
			if bad := (*LineError)(nil); err != nil && !errors.As(err, &bad) {
				return
			}
		}
	}
}

// next returns the next line, valid until the next call, without space around it.
func (r *Reader) next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	if cap(r.buf) > keepBuffer {
		r.buf = nil
	}
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if err == nil && len(r.buf) == 0 { // the common case needs no copy
			r.line++
			return bytes.TrimSpace(part), nil
		}
		r.buf = append(r.buf, part...)
		switch {
		case err == nil:
			r.line++
			return bytes.TrimSpace(r.buf), nil
		case err == bufio.ErrBufferFull:
			continue
		}
		r.err = err
		if err == io.EOF && len(bytes.TrimSpace(r.buf)) > 0 {
			r.line++
			return bytes.TrimSpace(r.buf), nil
		}
		return nil, err
	}
}

func excerpt(line []byte) string {
	const most = 200
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}
