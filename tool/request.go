package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// A definition is what the model reads about a tool, as it was when the model read it.
type definition struct {
	tool *Tool
	json []byte
}

// define encodes what the model reads about t. A late tool is marked as loaded only where a
// result refers to it, so that it is not part of what the provider has cached.
func define(s *Set, t *Tool, late bool) definition {
	return definition{t, appendDefinition(nil, s, t, late)}
}

func appendDefinition(b []byte, s *Set, t *Tool, late bool) []byte {
	b = plainjson.AppendString(append(b, `{"name":`...), t.Name)
	b = plainjson.AppendString(append(b, `,"description":`...), s.Description(t))
	b = append(append(b, `,"input_schema":`...), s.View(t).JSON()...)
	if late {
		b = append(b, `,"defer_loading":true`...)
	}
	return append(b, '}')
}

// definitions are those of the tools that are loaded from the first request, encoded once:
// every later set of the conversation has the same ones.
type definitions struct {
	tools []*Tool
	array func() []byte
}

func newDefinitions(s *Set, tools []*Tool) *definitions {
	session := *s // s may be a set that grows
	return &definitions{tools, sync.OnceValue(func() []byte {
		b := append(make([]byte, 0, usualDefinition*len(tools)), '[')
		for i, t := range tools {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendDefinition(b, &session, t, false)
		}
		return append(b, ']')
	})}
}

// usualDefinition is how long a definition usually is, in bytes.
const usualDefinition = 1 << 10

// encode makes the array of the set's request, when it is wanted.
func (s *Set) encode() {
	loaded := s.loaded
	var found []definition
	if s.References() {
		found = s.found
	}
	s.array = sync.OnceValue(func() []byte {
		all := loaded.array()
		if len(found) == 0 {
			return all
		}
		b := slices.Clip(all[:len(all)-1]) // without the bracket; other sets have the same array
		for _, d := range found {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(b, d.json...)
		}
		return append(b, ']')
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
