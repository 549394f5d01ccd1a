package serve

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/text/redact"
	"github.com/haftdev/haft/wire"
)

// A message that the journal does not have is encoded once for all who watch.
type message struct {
	wire.Message
	once  sync.Once
	text  []byte
	piece piece
}

// A piece is part of an answer that arrives, for clients that want it in short.
type piece struct {
	Index    int    `json:"i"`
	Text     string `json:"t,omitempty"`
	Thinking string `json:"k,omitempty"`

	is   bool // it is one
	left bool // it is part of an answer that such clients do not show as it arrives
}

// newMessage prepares a message for those who watch.
func newMessage(m wire.Message) *message {
	out := &message{Message: m}
	e, ok := m.(*wire.StreamEvent)
	if !ok {
		return out
	}
	var event struct {
		Type  string
		Index int
		Delta struct{ Text, Thinking string }
	}
	known := json.Unmarshal(e.Event, &event) == nil
	p := piece{Index: event.Index, Text: event.Delta.Text, Thinking: event.Delta.Thinking}
	switch {
	case !known:
	case e.ParentToolUseID != "":
		p.left = true
	case event.Type == "content_block_delta":
		p.is, p.left = true, p.Text == "" && p.Thinking == "" // an input, or a signature
	case event.Type != "message_start" && event.Type != "content_block_start":
		p.left = true
	}
	out.piece = p
	return out
}

// encoded is the message as all get it; empty if it cannot be said.
func (m *message) encoded(hide *redact.Redactor) []byte {
	m.once.Do(func() {
		if raw, err := wire.Encode(m.Message); err == nil {
			m.text = bytes.TrimSpace(hide.JSON(raw))
		}
	})
	return m.text
}

// pieceTime is how long pieces of an answer are gathered before they are sent together.
const pieceTime = 50 * time.Millisecond

// A gatherer joins the pieces of an answer that come shortly after each other.
type gatherer struct {
	wanted bool // the client wants pieces
	piece  piece
	sent   time.Time   // when the last one was
	due    *time.Timer // when the one that is gathered is to be sent
}

// takes takes in a message, and reports whether that was all: it is a piece that waits for
// others, or one that is not shown.
func (g *gatherer) takes(p piece, send func() error) (bool, error) {
	switch {
	case !g.wanted || !p.is && !p.left:
		return false, send()
	case p.left:
		return true, nil
	}
	var err error
	if g.piece.is && (g.piece.Index != p.Index || (g.piece.Thinking != "") != (p.Thinking != "")) {
		err = send()
	}
	if !g.piece.is {
		g.piece = piece{Index: p.Index, is: true}
		g.due.Reset(max(0, pieceTime-time.Since(g.sent)))
	}
	g.piece.Text += p.Text
	g.piece.Thinking += p.Thinking
	return true, err
}
