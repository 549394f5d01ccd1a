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
	for _, t := range r.set.visible[r.shown:] {
		if r.shown > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"name":`)
		writeString(b, t.Name)
		b.WriteString(`,"description":`)
		writeString(b, t.Describe(r.set.session))
		b.WriteString(`,"input_schema":`)
		b.Write(r.set.View(t).JSON())
		b.WriteByte('}')
		r.shown++
	}
	b.WriteByte(']')
	r.array = b.Bytes()
}

// writeString writes s as JSON, without the escapes that HTML would need.
func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("tool: encode a string: " + err.Error()) // strings encode
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
}
