package wirelog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/text/redact"
	"github.com/haftdev/haft/internal/world/mcp/envelope"
)

// schemas are fields in which the names of secrets describe what is asked for, and
// hold none.
var schemas = []string{"inputSchema", "outputSchema", "requestedSchema"}

// A mask takes secrets out of messages. The zero value knows no particular ones.
type mask struct{ *redact.Redactor }

// A place is where in a message a value stands.
type place struct {
	secret bool // by the name of a field
	named  bool // names count here
	depth  int
}

// maxDepth is how deeply a message may be nested; what lies deeper is hidden, for
// each level is read again by the one below.
const maxDepth = 100

// value appends a value.
func (m *mask) value(out []byte, raw json.RawMessage, at place) []byte {
	if at.depth++; at.depth > maxDepth {
		return appendText(out, redact.Hidden)
	}
	switch raw[0] {
	case '{':
		out = append(out, '{')
		for key, value := range envelope.Fields(raw) {
			if out[len(out)-1] != '{' {
				out = append(out, ',')
			}
			out = append(appendText(out, m.Text(key)), ':')
			below := at
			below.secret = at.secret || at.named && redact.Name(key)
			below.named = at.named && !slices.Contains(schemas, key)
			out = m.value(out, value, below)
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		for element := range envelope.Elements(raw) {
			if out[len(out)-1] != '[' {
				out = append(out, ',')
			}
			out = m.value(out, element, at)
		}
		return append(out, ']')
	case '"':
		var text string
		if at.secret || json.Unmarshal(raw, &text) != nil {
			return appendText(out, redact.Hidden)
		}
		if masked := m.Text(text); masked != text {
			return appendText(out, masked)
		}
	case 't', 'f', 'n':
	default:
		if at.secret {
			return appendText(out, redact.Hidden)
		}
	}
	return append(out, raw...)
}

// message returns a message without secrets. The order of its fields stays.
func (m *mask) message(raw []byte) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) > maxMessage || !json.Valid(raw) {
		e := envelope.Read(raw)
		id, _ := e.Number()
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"omitted":%d}`, id, len(raw))
	}
	return m.value(nil, raw, place{named: true})
}

// maxMessage is how long a message may be to be written down.
const maxMessage = 1 << 20

func appendText(out []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always can be
	return append(out, text...)
}
