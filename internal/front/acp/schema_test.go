package acp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A checker judges what haft says by the official schema: testdata/schema.v1.json is
// schema/v1/schema.json of @agentclientprotocol/sdk 2.4.0 (Apache-2.0) without its
// descriptions.
type checker struct {
	compiler *jsonschema.Compiler
	params   map[string]string // definitions of what the agent sends, by method
	results  map[string]string // definitions of its answers, by method

	mu    sync.Mutex
	asked map[string]string // methods of the client's requests, by id
}

func newChecker() (*checker, error) {
	raw, err := os.ReadFile("testdata/schema.v1.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := &checker{compiler: jsonschema.NewCompiler(), params: map[string]string{}, results: map[string]string{}, asked: map[string]string{}}
	for name, def := range doc.(map[string]any)["$defs"].(map[string]any) {
		d := def.(map[string]any)
		method, _ := d["x-method"].(string)
		switch {
		case method == "":
		case strings.HasSuffix(name, "Response"):
			c.results[method] = name
		default:
			c.params[method] = name
		}
	}
	c.results["session/fork"], c.results["session/set_title"] = "NewSessionResponse", "SetSessionModeResponse" // the same shapes, in the unstable schema
	return c, c.compiler.AddResource("https://example.com/acp.json", doc)
}

// sent notes a request of the client.
func (c *checker) sent(line string) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal([]byte(line), &m) == nil && m.Method != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked[string(m.ID)] = m.Method
	}
}

// line judges a line that haft wrote.
func (c *checker) line(line []byte) error {
	var m struct {
		Version               string `json:"jsonrpc"`
		ID                    json.RawMessage
		Method                string
		Params, Result, Error json.RawMessage
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	if m.Version != "2.0" {
		return fmt.Errorf("jsonrpc is %q", m.Version)
	}
	switch {
	case m.Method != "":
		return c.check(c.params[m.Method], m.Params, m.Method)
	case m.Error != nil:
		return c.check("Error", m.Error, "an error")
	}
	c.mu.Lock()
	method := c.asked[string(m.ID)]
	c.mu.Unlock()
	return c.check(c.results[method], m.Result, "the answer to "+method)
}

func (c *checker) check(def string, raw json.RawMessage, what string) error {
	if def == "" {
		return fmt.Errorf("the schema has nothing for %s", what)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	schema, err := c.compiler.Compile("https://example.com/acp.json#/$defs/" + def)
	if err != nil {
		return err
	}
	if err := schema.Validate(v); err != nil {
		return fmt.Errorf("%s is not a %s: %w", what, def, err)
	}
	return nil
}
