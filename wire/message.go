package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// A Message is one line: a pointer to one of this package's message types.
type Message interface {
	// Tag is what the message is on the wire.
	Tag() Tag
	base() *Base
}

// A Tag tells messages apart. Subtype is empty for types that have none.
type Tag struct{ Type, Subtype string }

func (t Tag) String() string {
	if t.Subtype == "" {
		return t.Type
	}
	return t.Type + "/" + t.Subtype
}

// Base is part of every message and request.
type Base struct {
	// Extra holds the fields that this package does not know. They are written back
	// unchanged.
	Extra map[string]json.RawMessage `json:"-"`
}

func (b *Base) base() *Base { return b }

// Stamp is part of every message about a session.
type Stamp struct {
	Base
	UUID      string `json:"uuid" wire:"nonempty"`
	SessionID string `json:"session_id" wire:"nonempty"`
}

// Unknown is a message of a type that this package does not know.
type Unknown struct {
	Base
	Type, Subtype string
	// Line is the whole object.
	Line json.RawMessage
}

// Tag returns the type and subtype in the line.
func (u *Unknown) Tag() Tag { return Tag{u.Type, u.Subtype} }

// Decode reads one line. It keeps no reference to it.
func Decode(line []byte) (Message, error) {
	var tag Tag
	var all []field
	for f := range fields(line) {
		switch f.name {
		case "type":
			_ = json.Unmarshal(f.value, &tag.Type) // a type that is not a string is ignored
		case "subtype":
			_ = json.Unmarshal(f.value, &tag.Subtype)
		}
		all = append(all, f)
	}
	k := kindOf(tag)
	if k == nil {
		return decodeUnknown(tag, line)
	}
	m := k.New()
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("decode %v: %w", k.Tag, err)
	}
	m.base().keep(all, k.known())
	return m, nil
}

func kindOf(t Tag) *Kind {
	if t.Type != "system" { // there a subtype is a field of the message
		t.Subtype = ""
	}
	return byTag()[t]
}

func decodeUnknown(tag Tag, line []byte) (Message, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	if tag.Type == "" {
		return nil, errors.New("decode message: no type")
	}
	return &Unknown{Type: tag.Type, Subtype: tag.Subtype, Line: bytes.Clone(line)}, nil
}

// keep copies the unknown fields.
func (b *Base) keep(all []field, known map[string]bool) {
	for _, f := range all {
		if known[f.name] {
			continue
		}
		if b.Extra == nil {
			b.Extra = map[string]json.RawMessage{}
		}
		b.Extra[f.name] = bytes.Clone(f.value)
	}
}

// Encode returns the message as one line, without the line's end.
func Encode(m Message) ([]byte, error) {
	if u, ok := m.(*Unknown); ok {
		return compact(u.Line)
	}
	tag := m.Tag()
	subtype := ""
	if tag.Type == "system" { // elsewhere it is a field of the message
		subtype = tag.Subtype
	}
	outer, filling := hollow(m)
	line, err := tagged(outer, m.base().Extra, "type", tag.Type, "subtype", subtype)
	if err != nil {
		return nil, fmt.Errorf("encode %v: %w", tag, err)
	}
	return fill(line, filling), nil
}

// hollow takes out of a message what is JSON already, and most of it, for [fill] to put back, the last first: the encoder
// would read it once for each struct around it, and results may be large.
func hollow(m Message) (outer Message, filling [][2][]byte) {
	switch m := m.(type) {
	case *Assistant:
		if raw, ok := joined(m.Message.Content); ok {
			c := *m
			c.Message.Content = hole
			return &c, [][2][]byte{{[]byte(`"content":[0]`), raw}}
		}
	case *User:
		raw, ok := joined(m.Message.Content.Blocks)
		if !ok {
			break
		}
		c := *m
		c.Message.Content.Blocks = hole
		if raw := m.ToolUseResult; len(raw) > 0 && bytes.IndexByte(raw, '\n') < 0 && plainjson.Valid(raw) {
			c.ToolUseResult = json.RawMessage("0")
			filling = append(filling, [2][]byte{[]byte(`"tool_use_result":0`), raw})
		}
		return &c, append(filling, [2][]byte{[]byte(`"content":[0]`), raw})
	}
	return m, nil
}

// hole is a list of one block that no message has.
var hole = []Block{{Raw: json.RawMessage("0")}}

// joined is the JSON of blocks that know theirs.
func joined(blocks []Block) (raw []byte, ok bool) {
	if len(blocks) == 0 {
		return nil, false
	}
	raw = []byte{'['}
	for i := range blocks {
		if blocks[i].Raw == nil {
			return nil, false
		}
		if i > 0 {
			raw = append(raw, ',')
		}
		var err error
		if raw, err = plainjson.AppendCompact(raw, blocks[i].Raw); err != nil {
			return nil, false // the encoder says what is wrong
		}
	}
	return append(raw, ']'), true
}

// fill puts back what was taken out. Only strings, in which no quote is bare, precede it until it is done.
func fill(line []byte, filling [][2][]byte) []byte {
	for _, f := range filling {
		at := bytes.Index(line, f[0])
		name := bytes.IndexByte(f[0], ':') + 1
		line = slices.Concat(line[:at+name], f[1], line[at+len(f[0]):])
	}
	return line
}

func compact(raw json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return b.Bytes(), nil
}

// tagged encodes the struct v as an object that begins with the given names and values,
// leaving out empty ones, and ends with the extra fields.
func tagged(v any, extra map[string]json.RawMessage, tags ...string) ([]byte, error) {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(len(body) + 64)
	b.WriteByte('{')
	next := func() {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
	}
	for pair := range slices.Chunk(tags, 2) {
		if pair[1] != "" {
			next()
			fmt.Fprintf(&b, "%q:%q", pair[0], pair[1])
		}
	}
	if inner := body[1 : len(body)-1]; len(inner) > 0 {
		next()
		b.Write(inner)
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		key, err := plainjson.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := plainjson.Marshal(extra[name])
		if err != nil {
			return nil, err
		}
		next()
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
