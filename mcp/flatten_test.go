package mcp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/tool/schema"
)

func TestAlternativesAtTheRootBecomeOptionalFields(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a plain schema stays byte for byte", `{"type":"object", "properties":{"b":{},"a":{}}}`, `{"type":"object", "properties":{"b":{},"a":{}}}`},
		{"nothing at all is an object", `{}`, `{"properties":{},"type":"object"}`},
		{"alternatives: what all require is required", `{"anyOf":[{"properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},{"properties":{"a":{"type":"number"}},"required":["a"]}]}`, `{"properties":{"a":{"type":"string"},"b":{}},"required":["a"],"type":"object"}`},
		{"parts: what any requires is required", `{"type":"object","properties":{"x":{}},"required":["x"],"allOf":[{"properties":{"y":{}},"required":["y"]}],"additionalProperties":false}`, `{"properties":{"x":{},"y":{}},"required":["x","y"],"type":"object"}`},
		{"alternatives deeper down stay", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`},
	} {
		got, err := flatten(json.RawMessage(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		if _, err := schema.Parse(got); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, bad := range []string{`{"type":"array"}`, `{"type":["object","null"]}`, `{"$ref":"https://x.example/s"}`, `5`} {
		if got, err := flatten(json.RawMessage(bad)); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

func FuzzFlatten(f *testing.F) {
	f.Add([]byte(`{"anyOf":[{"properties":{"a":{}}},5],"allOf":null,"required":5}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		flat, err := flatten(raw)
		if err == nil && !json.Valid(flat) {
			t.Errorf("%q became %q", raw, flat)
		}
	})
}
