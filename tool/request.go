package tool

import (
	"bytes"
	"encoding/json"
	"sync"
)

// A request is the encoded tools of a set, made once and from the bytes of the
// set before it.
type request struct {
	set    *Set
	before *request // nil for the first set of a conversation
	once   sync.Once
	array  []byte
	shown  int // how many tools the array holds
}

// definition is a tool as a provider reads it.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Request returns the JSON array that describes the visible tools to a model.
// It is encoded once; the caller must not modify it.
func (s *Set) Request() json.RawMessage {
	s.request.once.Do(s.request.encode)
	return s.request.array
}

func (r *request) encode() {
	b := bytes.NewBuffer([]byte{'['})
	if r.before != nil {
		prefix := r.before.set.Request()
		b = bytes.NewBuffer(append([]byte(nil), prefix[:len(prefix)-1]...))
		r.shown = r.before.shown
		r.before = nil // let earlier turns go
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, t := range r.set.visible[r.shown:] {
		if r.shown > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(definition{t.Name, t.Describe(r.set.session), r.set.View(t).JSON()}); err != nil {
			panic("tool " + t.Name + ": encode: " + err.Error()) // strings and valid JSON encode
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
		r.shown++
	}
	b.WriteByte(']')
	r.array = b.Bytes()
}
