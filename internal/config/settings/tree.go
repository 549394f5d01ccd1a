package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tailscale/hujson"
)

// A node is a JSON value that knows its line. Nodes are never changed.
type node struct {
	kind     byte // as hujson.Kind: n f t " 0 { [
	line     int
	literal  []byte // of anything but an object or array
	members  []member
	elements []*node
}

type member struct {
	name  string
	line  int
	value *node
}

// maxDepth bounds how deep values nest: the parser is recursive.
const maxDepth = 200

// bom is what some editors put before UTF-8 text.
var bom = []byte("\ufeff")

func parseValue(text []byte) (hujson.Value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	if line := tooDeep(text); line > 0 {
		return hujson.Value{}, fmt.Errorf("line %d: values are nested more than %d deep", line, maxDepth)
	}
	v, err := hujson.Parse(text)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return v, fmt.Errorf("line %d: the file ends too early", 1+bytes.Count(bytes.TrimSpace(text), []byte("\n")))
	}
	if err != nil {
		return v, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	return v, nil
}

// tooDeep returns the line at which values nest deeper than maxDepth; 0: nowhere.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return 1 + bytes.Count(text[:i], []byte("\n"))
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i += max(0, len(comment(text[i:]))-1) // what is no comment the parser refuses
		}
	}
	return 0
}

// comment returns the comment that text begins with, without a line's end.
func comment(text []byte) []byte {
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			return text[:end]
		}
		return text
	case bytes.HasPrefix(text, []byte("/*")):
		if end := bytes.Index(text[2:], []byte("*/")); end >= 0 {
			return text[:end+4]
		}
		return text
	}
	return nil
}

// A lineCounter turns offsets, which only grow, into lines.
type lineCounter struct {
	text      []byte
	off, line int
}

func (l *lineCounter) at(off int) int {
	off = min(off, len(l.text))
	l.line += bytes.Count(l.text[l.off:off], []byte("\n"))
	l.off = off
	return l.line
}

func (l *lineCounter) convert(v *hujson.Value, twice func(string, int)) *node {
	n := &node{kind: byte(v.Value.Kind()), line: l.at(v.StartOffset)}
	switch v := v.Value.(type) {
	case hujson.Literal:
		n.literal = bytes.Clone(v)
	case *hujson.Array:
		for i := range v.Elements {
			n.elements = append(n.elements, l.convert(&v.Elements[i], twice))
		}
	case *hujson.Object:
		l.convertMembers(n, v, twice)
	}
	return n
}

func (l *lineCounter) convertMembers(n *node, v *hujson.Object, twice func(string, int)) {
	place := make(map[string]int, len(v.Members))
	for i := range v.Members {
		name := v.Members[i].Name.Value.(hujson.Literal).String()
		m := member{name: name, line: l.at(v.Members[i].Name.StartOffset)}
		m.value = l.convert(&v.Members[i].Value, func(inner string, line int) { twice(name+"."+inner, line) })
		if at, again := place[name]; again {
			twice(name, m.line)
			n.members[at] = m
			continue
		}
		place[name] = len(n.members)
		n.members = append(n.members, m)
	}
}

// get returns the value at a path of names, nil if there is none.
func (n *node) get(path ...string) *node {
	for _, name := range path {
		if n = n.child(name); n == nil {
			return nil
		}
	}
	return n
}

func (n *node) child(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// text returns the value of a string.
func (n *node) text() (string, bool) {
	if n == nil || n.kind != '"' {
		return "", false
	}
	return hujson.Literal(n.literal).String(), true
}

// json returns the value as plain JSON, without blanks.
func (n *node) json() json.RawMessage { return n.append(nil) }

func (n *node) append(b []byte) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, hujson.String(m.name)...)
			b = append(b, ':')
			b = m.value.append(b)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, e := range n.elements {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.append(b)
		}
		return append(b, ']')
	}
	return append(b, n.literal...)
}

// kindName says what a value is, for people.
func kindName(kind byte) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	}
	return "null"
}
