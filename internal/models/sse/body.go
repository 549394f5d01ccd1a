package sse

import (
	"io"
	"net"
)

// A Body is that of a request: pieces of JSON that follow one another, which it
// keeps as they are and does not copy.
type Body struct {
	pieces [][]byte
	length int64
}

// NewBody returns a body with room for n pieces.
func NewBody(n int) *Body { return &Body{pieces: make([][]byte, 0, n)} }

// Add adds a piece, which must not be changed any more.
func (b *Body) Add(piece []byte) {
	b.pieces = append(b.pieces, piece)
	b.length += int64(len(piece))
}

// Len is how long the body is, in bytes.
func (b *Body) Len() int64 { return b.length }

// Reader returns the body from its beginning.
func (b *Body) Reader() io.ReadCloser { return &bodyReader{rest: b.pieces} }

type bodyReader struct {
	rest [][]byte
	at   int // in rest[0]
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.rest) > 0 {
		copied := copy(p[n:], r.rest[0][r.at:])
		n += copied
		if r.at += copied; r.at == len(r.rest[0]) {
			r.rest, r.at = r.rest[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }

// sendTo writes head and then at most limit bytes to a connection, many pieces in one step. It returns how many of those
// bytes were sent.
func (r *bodyReader) sendTo(conn *net.TCPConn, head []byte, limit int64) (sent int64, err error) {
	const most = 256
	for err == nil && sent < limit && len(r.rest) > 0 {
		batch := make(net.Buffers, 0, min(most, 1+len(r.rest)))
		before := int64(len(head))
		if head != nil {
			batch, head = append(batch, head), nil
		}
		room := limit - sent
		for room > 0 && len(r.rest) > 0 && len(batch) < most {
			piece := r.rest[0][r.at:]
			if int64(len(piece)) > room {
				piece = piece[:room]
				r.at += len(piece)
			} else {
				r.rest, r.at = r.rest[1:], 0
			}
			room -= int64(len(piece))
			batch = append(batch, piece)
		}
		var n int64
		n, err = batch.WriteTo(conn)
		sent += max(0, n-before)
	}
	return sent, err
}
