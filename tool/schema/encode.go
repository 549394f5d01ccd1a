package schema

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// encode writes a derived schema. It knows only the keywords that deriving uses:
// every start pays for every tool, and the library's general encoder took most
// of the time it takes to assemble a pool. A test holds it against the library.
func encode(s *jsonschema.Schema) json.RawMessage {
	e := new(encoder)
	e.schema(s)
	return e.b.Bytes()
}

type encoder struct {
	b     bytes.Buffer
	comma bool
}

func (e *encoder) schema(s *jsonschema.Schema) {
	e.open('{')
	e.text("$schema", s.Schema)
	e.text("type", s.Type)
	if s.Types != nil {
		e.key("type")
		e.b.Write(marshal(s.Types))
	}
	e.text("description", s.Description)
	if s.Enum != nil {
		e.key("enum")
		e.b.Write(marshal(s.Enum))
	}
	if s.Default != nil {
		e.key("default")
		e.b.Write(s.Default)
	}
	e.number("minimum", s.Minimum)
	e.number("maximum", s.Maximum)
	e.count("minLength", s.MinLength)
	e.count("maxLength", s.MaxLength)
	e.text("pattern", s.Pattern)
	e.count("minItems", s.MinItems)
	e.count("maxItems", s.MaxItems)
	if s.Items != nil {
		e.key("items")
		e.schema(s.Items)
	}
	e.object(s)
	if s.AnyOf != nil {
		e.key("anyOf")
		e.open('[')
		for _, form := range s.AnyOf {
			e.separate()
			e.schema(form)
		}
		e.close(']')
	}
	e.close('}')
}

func (e *encoder) object(s *jsonschema.Schema) {
	if s.Properties != nil {
		e.key("properties")
		e.open('{')
		for _, name := range s.PropertyOrder {
			e.key(name)
			e.schema(s.Properties[name])
		}
		e.close('}')
	}
	if len(s.Required) > 0 {
		e.key("required")
		e.b.Write(marshal(s.Required))
	}
	switch more := s.AdditionalProperties; {
	case more == nil:
	case refusesAll(more):
		e.key("additionalProperties")
		e.b.WriteString("false")
	default:
		e.key("additionalProperties")
		e.schema(more)
	}
}

func (e *encoder) open(bracket byte) {
	e.b.WriteByte(bracket)
	e.comma = false
}

func (e *encoder) close(bracket byte) {
	e.b.WriteByte(bracket)
	e.comma = true
}

func (e *encoder) separate() {
	if e.comma {
		e.b.WriteByte(',')
	}
	e.comma = true
}

func (e *encoder) key(name string) {
	e.separate()
	e.b.Write(marshal(name))
	e.b.WriteByte(':')
}

func (e *encoder) text(key, value string) {
	if value != "" {
		e.key(key)
		e.b.Write(marshal(value))
	}
}

func (e *encoder) number(key string, value *float64) {
	if value != nil {
		e.key(key)
		e.b.Write(strconv.AppendFloat(nil, *value, 'f', -1, 64))
	}
}

func (e *encoder) count(key string, value *int) {
	if value != nil {
		e.key(key)
		e.b.Write(strconv.AppendInt(nil, int64(*value), 10))
	}
}
