package tool

import (
	"sync"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// A definition is what the model reads about a tool, as it was when the model read it.
type definition struct {
	tool *Tool
	json []byte
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
