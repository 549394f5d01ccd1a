// Package card is what people see of a call: a title, a line about it, what
// decided, how it went, what it changed. The front ends draw cards; what they
// say is the same everywhere.
//
// Everything comes from a model, a tool or a file, so every text is made visible:
// nothing in it can move a cursor or hide. Cards are plain values.
package card

import (
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool"
)

// A Card is a call as people see it.
type Card struct {
	UseID string
	// Title is the tool's name for people, Detail a line about the call.
	Title, Detail string
	// Path is the file that it is about, as the call names it; "" for none.
	Path string
}

// Of returns the card of a call that a model makes.
func Of(set *tool.Set, useID, name string, input json.RawMessage) Card {
	c := Card{UseID: useID, Title: line(name)}
	var t *tool.Tool
	if set != nil {
		t = set.Lookup(name)
	}
	if t == nil {
		return c
	}
	c.Title = line(t.UserName())
	call := &tool.Call{UseID: useID, Tool: t.Name, Input: input}
	c.Path = PathOf(t, call)
	if t.Summarize != nil {
		c.Detail = summary(func() string { return t.Summarize(call) })
	}
	return c
}

// PathOf returns the file that a call is about: the first that it changes or reads; ""
// for none. A tool that fails at telling it is about none.
func PathOf(t *tool.Tool, c *tool.Call) (path string) {
	defer func() {
		if recover() != nil {
			path = ""
		}
	}()
	if all := t.PathsOf(c).All(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// String is the card in one line.
func (c Card) String() string {
	if c.Detail == "" {
		return c.Title
	}
	return c.Title + " " + c.Detail
}

// summary is a tool's own text. A tool that fails at it has none.
func summary(f func() string) (s string) {
	defer func() {
		if recover() != nil {
			s = ""
		}
	}()
	return line(f())
}

// line makes a text visible in one line of bounded length.
func line(s string) string {
	return shorten.To(visible.Indented(strings.Join(strings.Fields(s), " ")), 200)
}
