package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
)

// A Tool is an entry of a tool list as far as a host reads it.
type Tool struct {
	Name         string                     `json:"name"`
	Title        string                     `json:"title"`
	Description  string                     `json:"description"`
	InputSchema  json.RawMessage            `json:"inputSchema"`
	OutputSchema json.RawMessage            `json:"outputSchema"`
	Annotations  *Annotations               `json:"annotations"`
	Execution    *Execution                 `json:"execution"`
	Meta         map[string]json.RawMessage `json:"_meta"`
}

// Annotations are the hints of a tool.
type Annotations struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   *bool  `json:"openWorldHint"`
}

// Execution says how a tool may run.
type Execution struct {
	TaskSupport string `json:"taskSupport"` // forbidden, optional or required
}

// ReadTool reads an entry of a tool list.
func ReadTool(entry json.RawMessage) (t Tool, err error) {
	if err := json.Unmarshal(entry, &t); err != nil {
		return t, fmt.Errorf("the entry is malformed: %w", err)
	}
	return t, check(&t)
}

// checkTool says what is wrong with an entry of a tool list.
func checkTool(entry json.RawMessage) error {
	_, err := ReadTool(entry)
	return err
}

func check(t *Tool) error {
	if strings.TrimSpace(t.Name) == "" {
		return errors.New("the tool has no name")
	}
	if len(t.InputSchema) == 0 || string(t.InputSchema) == "null" {
		return errors.New("inputSchema is missing")
	}
	if t.InputSchema[0] != '{' {
		return errors.New("inputSchema is not an object")
	}
	return checkDepth(t.InputSchema)
}

// maxDepth is how deeply a schema may be nested.
const maxDepth = 100

func checkDepth(schema []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(schema); i++ {
		switch c := schema[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return errors.New("inputSchema is nested too deeply")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// Page returns the entries of a tool list.
func Page(result json.RawMessage) []json.RawMessage {
	return slices.Collect(envelope.Elements(envelope.Field(result, "tools")))
}
