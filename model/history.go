package model

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/plainjson"
)

// Role is who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is what one side says.
type Message struct {
	Role    Role    `json:"role"`
	Content []Block `json:"content"`
}

// UnmarshalJSON takes content as blocks and as a plain string.
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
		return blocks, json.Unmarshal(raw, &blocks[0].Text)
	}
	err = json.Unmarshal(raw, &blocks)
	return blocks, err
}

// A History is the messages of a conversation. Each is encoded once, when it
// joins, and sent as those bytes from then on: a long conversation costs a turn
// no more than the bytes it has to send, and a provider's prompt cache sees the
// same prefix every time. The zero History is empty.
type History struct {
	encoded []json.RawMessage
	size    int
}

// Append adds messages.
func (h *History) Append(messages ...Message) error {
	for _, m := range messages {
		raw, err := plainjson.Marshal(m)
		if err != nil {
			return err
		}
		h.AppendJSON(raw)
	}
	return nil
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
	err := json.Unmarshal(h.encoded[i], &m)
	return m, err
}

// Prefix returns the first n messages as a history of their own, which shares
// their bytes.
func (h *History) Prefix(n int) *History {
	p := &History{encoded: slices.Clip(h.encoded[:n])}
	for _, raw := range p.encoded {
		p.size += len(raw)
	}
	return p
}
