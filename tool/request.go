package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/plainjson"
)

// A definition is what the model reads about a tool, as it was when the model read it.
type definition struct {
	tool *Tool
	json []byte
}

// define encodes what the model reads about t. A late tool is marked as loaded only where a
// result refers to it, so that it is not part of what the provider has cached.
func define(s *Set, t *Tool, late bool) definition {
	var b bytes.Buffer
	b.WriteString(`{"name":`)
	writeString(&b, t.Name)
	b.WriteString(`,"description":`)
	writeString(&b, s.Description(t))
	b.WriteString(`,"input_schema":`)
	b.Write(s.View(t).JSON())
	if late {
		b.WriteString(`,"defer_loading":true`)
	}
	b.WriteByte('}')
	return definition{t, b.Bytes()}
}

// definitions are those of the tools that are loaded from the first request, encoded once:
// every later set of the conversation has the same ones.
type definitions struct {
	tools []*Tool
	json  func() []byte // separated by commas
}

func newDefinitions(s *Set, tools []*Tool) *definitions {
	session := *s // s may be a set that grows
	return &definitions{tools, sync.OnceValue(func() []byte {
		var b bytes.Buffer
		for i, t := range tools {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(define(&session, t, false).json)
		}
		return b.Bytes()
	})}
}

// encode makes the array of the set's request, when it is wanted.
func (s *Set) encode() {
	loaded := s.loaded
	var found []definition
	if s.References() {
		found = s.found
	}
	s.array = sync.OnceValue(func() []byte {
		parts := [][]byte{loaded.json()}
		if len(parts[0]) == 0 {
			parts = nil
		}
		for _, d := range found {
			parts = append(parts, d.json)
		}
		return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
	})
}

// Request returns the JSON array that describes tools to a model: those that are loaded
// and, if its API supports references, those that it has found. It is encoded once; the
// caller must not modify it.
func (s *Set) Request() json.RawMessage { return s.array() }

// Description returns what the model reads about t. If it panics, the panic names the tool.
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
