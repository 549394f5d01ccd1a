package model

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// Role is who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is a message of the user or the model.
type Message struct {
	Role    Role    `json:"role"`
	Content []Block `json:"content"`
}

// UnmarshalJSON accepts content as blocks or as a plain string.
func (m *Message) UnmarshalJSON(raw []byte) error {
	var w struct {
		Role    Role            `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	content, err := ParseContent(w.Content)
	*m = Message{Role: w.Role, Content: content}
	return err
}

// ParseContent reads the content of a message: blocks, or a plain string.
func ParseContent(raw json.RawMessage) (blocks []Block, err error) {
	if len(raw) > 0 && raw[0] == '"' {
		blocks = []Block{{Type: Text}}
		blocks[0].Text, err = plainjson.Text(raw)
		return blocks, err
	}
	if string(raw) == "null" {
		return nil, nil
	}
	blocks = []Block{}
	err = plainjson.Elements(raw, func(value []byte) error {
		blocks = append(blocks, Block{})
		return blocks[len(blocks)-1].UnmarshalJSON(value)
	})
	return blocks, err
}

// A History holds the messages of a conversation. Each message is encoded once, when it is
// added, and always sent as the same bytes. In a long conversation, a turn therefore costs no
// more than the bytes it has to send, and a provider's prompt cache sees the same prefix every
// time. The zero History is empty.
type History struct {
	encoded []json.RawMessage
	size    int
}

// Append adds messages.
func (h *History) Append(messages ...Message) error {
	for _, m := range messages {
		raw, err := m.encode()
		if err != nil {
			return err
		}
		h.AppendJSON(raw)
	}
	return nil
}

// encode is plainjson.Marshal without its copies.
func (m *Message) encode() ([]byte, error) {
	size := 64
	for _, b := range m.Content {
		size += b.size()
	}
	raw := plainjson.AppendString(append(make([]byte, 0, size), `{"role":`...), string(m.Role))
	if m.Content == nil {
		return append(raw, `,"content":null}`...), nil
	}
	raw = append(raw, `,"content":[`...)
	for i, b := range m.Content {
		if i > 0 {
			raw = append(raw, ',')
		}
		var err error
		if raw, err = b.AppendJSON(raw); err != nil {
			return nil, err
		}
	}
	return append(raw, `]}`...), nil
}

// AppendJSON adds a message in its encoded form, which the history keeps.
func (h *History) AppendJSON(raw json.RawMessage) {
	h.encoded = append(h.encoded, raw)
	h.size += len(raw)
}

// Grow makes room for n more messages.
func (h *History) Grow(n int) { h.encoded = slices.Grow(h.encoded, n) }

// Len is the number of messages.
func (h *History) Len() int { return len(h.encoded) }

// Size is the length of all messages together, in bytes of JSON.
func (h *History) Size() int { return h.size }

// JSON returns the i-th message as it is sent; the caller must not modify it.
func (h *History) JSON(i int) json.RawMessage { return h.encoded[i] }

// Message decodes the i-th message.
func (h *History) Message(i int) (Message, error) {
	var m Message
	err := m.UnmarshalJSON(h.encoded[i]) // json.Unmarshal would read it once more, to see that it is JSON
	return m, err
}

// Prefix returns the first n messages as a separate history, which shares their bytes.
func (h *History) Prefix(n int) *History {
	p := &History{encoded: slices.Clip(h.encoded[:n])}
	for _, raw := range p.encoded {
		p.size += len(raw)
	}
	return p
}
