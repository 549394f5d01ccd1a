package httpgate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
)

// A stream is an event stream that is passed through the gate event by event.
type stream struct {
	ctx  context.Context // of the request
	body io.ReadCloser
	r    *bufio.Reader
	t    *Transport
	id   int64 // of the request that the stream answers, 0 for none

	out []byte // what the library has yet to read
	err error

	closed atomic.Bool
}

func newStream(ctx context.Context, body io.ReadCloser, t *Transport, id int64) *stream {
	return &stream{ctx: ctx, body: body, r: bufio.NewReaderSize(body, 32<<10), t: t, id: id}
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.out, s.err = s.event()
		if s.err != nil && s.err != io.EOF {
			s.suspectDeath()
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// Close implements [io.Closer].
func (s *stream) Close() error {
	s.closed.Store(true)
	if s.id != 0 && s.ctx.Err() != nil { // else the answer may come by another stream
		s.t.Gate.Forget(s.id)
	}
	return s.body.Close()
}

// event reads one event and returns what the library is to see of it.
func (s *stream) event() ([]byte, error) {
	var head, data []byte
	var name string
	long := false
	for {
		line, cut, err := s.line()
		if err != nil {
			return nil, err // a cut event is none
		}
		long = long || cut
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if head == nil && data == nil && name == "" {
				continue
			}
			return s.pass(head, name, data, long), nil
		case string(field) == "data":
			if data != nil {
				data = append(data, '\n')
			}
			if data = append(data, value...); len(data) > s.t.Max {
				data, long = data[:min(len(data), 4<<10)], true
			}
		case string(field) == "event":
			name = string(value)
		case string(field) == "id" || string(field) == "retry":
			head = append(append(head, line...), '\n')
		}
	}
}

// line reads one line, of which no more is kept than a message may have.
func (s *stream) line() (line []byte, cut bool, err error) {
	for {
		part, err := s.r.ReadSlice('\n')
		if len(line) <= s.t.Max {
			line = append(line, part...)
		} else {
			cut = true
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return nil, cut, err
		}
		return bytes.TrimRight(line, "\r\n"), cut, nil
	}
}

// pass returns an event as the library may see it.
func (s *stream) pass(head []byte, name string, data []byte, long bool) []byte {
	if name != "" && name != "message" {
		return frame(append(head, "event: "+name+"\n"...), data)
	}
	if s.t.Older {
		head = nil // its reader takes an event without data for a message
	}
	if long {
		m := envelope.Message{ID: envelope.IDOf(data[:min(len(data), 4<<10)])}
		if id, ok := m.Number(); ok && s.t.Gate.Waiting(id) != "" {
			s.t.Gate.Forget(id)
			return frame(head, gate.Encode(gate.Failure(id, fmt.Sprintf("the server's answer is longer than %d MiB", s.t.Max>>20))))
		}
		s.t.Gate.Noise("an event that is too long")
		return frame(head, nil)
	}
	if len(data) == 0 {
		return frame(head, nil)
	}
	m, ok := s.t.Gate.Admit(bytes.TrimPrefix(data, []byte("\ufeff")))
	if !ok {
		return frame(head, nil)
	}
	return frame(head, gate.Encode(m))
}

// frame writes an event. Line breaks, which JSON has between tokens only, go.
func frame(head, data []byte) []byte {
	if len(data) == 0 && len(head) == 0 {
		return []byte(": skipped\n\n")
	}
	b := make([]byte, 0, len(head)+len(data)+10)
	b = append(b, head...)
	if len(data) > 0 {
		b = append(b, "data: "...)
		if bytes.IndexByte(data, '\n') >= 0 {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte(" "))
		}
		b = append(b, data...)
		b = append(b, '\n')
	}
	return append(b, '\n')
}

// suspectDeath looks whether a stream was cut because the server is gone.
func (s *stream) suspectDeath() {
	if s.t.OnLost == nil || s.closed.Load() || errors.Is(s.err, context.Canceled) {
		return
	}
	host := s.t.Host
	if _, _, err := net.SplitHostPort(host); err != nil {
		return // a name without a port is far away: the library tries to resume
	}
	conn, err := net.DialTimeout("tcp", host, 300*time.Millisecond)
	if err == nil {
		conn.Close()
		return
	}
	s.t.OnLost(fmt.Errorf("the server no longer answers: %w", s.err))
}
