package script

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// A stream sends an answer as server-sent events, and breaks where the turn's
// fault says.
type stream struct {
	*answer
	ctx    context.Context
	w      http.ResponseWriter
	flush  *http.ResponseController
	buf    bytes.Buffer
	events int
	bytes  int
	broken bool // the fault has happened
}

func newStream(ctx context.Context, w http.ResponseWriter, a *answer) *stream {
	return &stream{answer: a, ctx: ctx, w: w, flush: http.NewResponseController(w)}
}

// over is how play learns that nothing more is to be sent.
type over struct{}

func (s *stream) play() {
	defer func() {
		if p := recover(); p != nil && p != (over{}) {
			panic(p)
		}
	}()
	kind := s.ContentType
	if kind == "" {
		kind = "text/event-stream"
	}
	s.w.Header().Set("Content-Type", kind)
	s.w.Header().Set("Cache-Control", "no-cache")
	s.pause(s.TTFT)
	s.send(s.start(s.answer))
	for i := range s.Blocks {
		s.block(i, &s.Blocks[i])
	}
	s.send(s.stop(s.answer))
}

func (s *stream) block(i int, b *Block) {
	s.send(s.open(i, b))
	for rest := b.said(); rest != ""; {
		n := s.piece(rest)
		s.send(s.delta(i, b, rest[:n]))
		rest = rest[n:]
		s.pause(s.Delta)
	}
	s.send(s.close(i, b))
	s.pause(b.Gap)
}

// piece is how much of rest the next delta says.
func (s *stream) piece(rest string) int {
	n := s.Chunk
	if n <= 0 {
		n = 40
	}
	for n < len(rest) && rest[n]&0xC0 == 0x80 {
		n++
	}
	return min(n, len(rest))
}

func (s *stream) send(events []event) {
	for _, ev := range events {
		if s.Break != "" && !s.broken && s.AfterBytes == 0 && s.events >= s.After {
			s.breakOff()
		}
		s.write(s.encode(ev))
		s.events++
	}
}

func (s *stream) encode(ev event) []byte {
	s.buf.Reset()
	if ev.name != "" {
		s.buf.WriteString("event: " + ev.name + "\n")
	}
	s.buf.WriteString("data: ")
	if text, ok := ev.data.(string); ok {
		s.buf.WriteString(text + "\n")
	} else if err := json.NewEncoder(&s.buf).Encode(ev.data); err != nil {
		panic("script: encode an event: " + err.Error()) // a Whole block that is not JSON
	}
	s.buf.WriteByte('\n')
	return s.buf.Bytes()
}

// write sends p, up to where the fault is.
func (s *stream) write(p []byte) {
	if s.Break != "" && !s.broken && s.AfterBytes > 0 && s.bytes+len(p) > s.AfterBytes {
		s.put(p[:s.AfterBytes-s.bytes])
		rest := append([]byte(nil), p[s.AfterBytes-s.bytes:]...)
		s.breakOff()
		p = rest
	}
	s.put(p)
}

func (s *stream) put(p []byte) {
	s.bytes += len(p)
	if s.Drip == 0 {
		s.push(p)
		return
	}
	for i := range p {
		s.push(p[i : i+1])
		s.pause(s.Drip)
	}
}

func (s *stream) push(p []byte) {
	if _, err := s.w.Write(p); err != nil {
		panic(over{})
	}
	if err := s.flush.Flush(); err != nil {
		panic(over{})
	}
}

// breakOff lets the fault happen.
func (s *stream) breakOff() {
	s.broken = true
	if s.events == 0 && s.bytes == 0 {
		_ = s.flush.Flush() // the header comes through; a client that left is found later
	}
	switch s.Break {
	case Cut:
		panic(http.ErrAbortHandler)
	case End:
		panic(over{})
	case Hang:
		<-s.ctx.Done()
		panic(over{})
	case Garbage:
		s.put([]byte("event: content_block_delta\ndata: {\"type\":\"content_bl\xff\n\n"))
	case Failure:
		s.send(s.failure(&s.Fault))
		panic(over{})
	default:
		panic("script: no such break: " + string(s.Break))
	}
}

func (s *stream) pause(ms int) {
	if !pause(s.ctx, ms) {
		panic(over{})
	}
}

// pause waits, and reports whether someone still listens.
func pause(ctx context.Context, ms int) bool {
	if ms <= 0 {
		return true
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
