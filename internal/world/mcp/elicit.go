package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
)

// inOrder is the schema of a form with its fields in the order in which the server has
// them.
func inOrder(decoded any) (json.RawMessage, error) {
	schema, _ := decoded.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	order, _ := schema[gate.Order].([]any)
	if len(order) == 0 {
		return json.Marshal(decoded)
	}
	var b bytes.Buffer
	for _, name := range order {
		name, _ := name.(string)
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(properties[name])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%s:%s", key, value)
	}
	rest := maps.Clone(schema)
	delete(rest, gate.Order)
	rest["properties"] = json.RawMessage("{" + strings.TrimPrefix(b.String(), ",") + "}")
	return json.Marshal(rest)
}

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

var secret = lazyregexp.New(`(?i)^(.*[_-])?(password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|private[_-]?key|credentials?|pin|cvv|otp)$`)

// secretField finds a field of a form that asks for what a form must not hold:
// the answer would pass the model's context.
func secretField(schema json.RawMessage) string {
	for name, property := range envelope.Fields(envelope.Field(schema, "properties")) {
		if secret.MatchString(name) || string(envelope.Field(property, "format")) == `"password"` {
			return name
		}
	}
	return ""
}
