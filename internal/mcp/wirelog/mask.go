package wirelog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/internal/mcp/envelope"
)

// hidden stands in the place of a secret.
const hidden = "***"

// secretName is what fields are called that hold secrets. Numbers of things
// (progressToken) are not among them.
var secretName = lazyregexp.New(`(?i)^(.*[_-])?((access|refresh|id|auth|bearer|session|api|client)?[_-]?(token|secret)|authorization|cookie|set-cookie|password|passwd|passphrase|(api|private|secret|access)[_-]?key|credentials?|assertion|code[_-]?verifier|pin|cvv|otp)$`)

// IsSecret reports whether a field, variable or flag of this name holds a secret.
func IsSecret(name string) bool { return secretName.MatchString(name) }

// secretLook is what secrets look like wherever they stand.
var secretLook = lazyregexp.New(`(?i:bearer|basic)\s+[\w.~+/=-]{8,}` +
	`|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*` + // a JSON web token
	`|\b(sk|pk|rk)-[\w-]{16,}|\b(gh[pousr]|glpat|github_pat)[_-]\w{16,}|\bxox[abeprs]-[\w-]{10,}|\bA(KI|SI)A[0-9A-Z]{16}\b|\bAIza[\w-]{30,}` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(-----END [A-Z ]*PRIVATE KEY-----)?` +
	`|://[^/\s:@]+:[^/\s:@]+@`)

// schemas are fields in which the names of secrets describe what is asked for, and
// hold none.
var schemas = []string{"inputSchema", "outputSchema", "requestedSchema"}

// A mask takes secrets out of messages. The zero value knows no particular ones.
type mask struct{ known *strings.Replacer }

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
		return appendText(out, hidden)
	}
	switch raw[0] {
	case '{':
		out = append(out, '{')
		for key, value := range envelope.Fields(raw) {
			if out[len(out)-1] != '{' {
				out = append(out, ',')
			}
			out = append(appendText(out, m.text(key)), ':')
			below := at
			below.secret = at.secret || at.named && secretName.MatchString(key)
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
			return appendText(out, hidden)
		}
		if masked := m.text(text); masked != text {
			return appendText(out, masked)
		}
	case 't', 'f', 'n':
	default:
		if at.secret {
			return appendText(out, hidden)
		}
	}
	return append(out, raw...)
}

func (m *mask) text(s string) string {
	if m.known != nil {
		s = m.known.Replace(s)
	}
	return secretLook.ReplaceAllString(s, hidden)
}

func appendText(out []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always can be
	return append(out, text...)
}
