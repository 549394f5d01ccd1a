package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/haftdev/haft/internal/plainjson"
)

// A request is the encoded tools of a set, made once and from the bytes of the
// set before it.
type request struct {
	array func() []byte
	shown int // how many tools the array holds
}

// newRequest encodes what set shows, after what the request before it holds;
// before is nil for the first set of a conversation.
func newRequest(set *Set, before *request) *request {
	r := new(request)
	r.array = sync.OnceValue(func() []byte {
		b := bytes.NewBuffer([]byte{'['})
		if before != nil {
			prefix := before.array()
			b = bytes.NewBuffer(append([]byte(nil), prefix[:len(prefix)-1]...))
			r.shown, before = before.shown, nil // let earlier turns go
		}
		for _, t := range set.visible[r.shown:] {
			if r.shown > 0 {
				b.WriteByte(',')
			}
			set.define(b, t)
			r.shown++
		}
		b.WriteByte(']')
		return b.Bytes()
	})
	return r
}

// Request returns the JSON array that describes the visible tools to a model.
// It is encoded once; the caller must not modify it.
func (s *Set) Request() json.RawMessage { return s.request.array() }

func (s *Set) define(b *bytes.Buffer, t *Tool) {
	b.WriteString(`{"name":`)
	writeString(b, t.Name)
	b.WriteString(`,"description":`)
	writeString(b, s.Description(t))
	b.WriteString(`,"input_schema":`)
	b.Write(s.View(t).JSON())
	b.WriteByte('}')
}

// Description returns what the model reads about t. A panic in it names the tool.
func (s *Set) Description(t *Tool) string {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("tool %s: describe: %v", t.Name, p))
		}
	}()
	return t.Describe(s.session)
}

// writeString writes s as JSON, without the escapes that HTML would need.
func writeString(b *bytes.Buffer, s string) {
	raw, err := plainjson.Marshal(s)
	if err != nil {
		panic("tool: encode a string: " + err.Error()) // strings encode
	}
	b.Write(raw)
}
