package schema_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/strictapi"
	"github.com/haftdev/haft/tool/schema"
)

func TestPortable(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, c := range []struct{ name, in, want string }{
		{"a plain schema stays byte for byte", `{"type":"object", "properties":{"b":{},"a":{}}}`, `{"type":"object", "properties":{"b":{},"a":{}}}`},
		{"nothing at all is an object", `{}`, `{"properties":{},"type":"object"}`},
		{"alternatives: what all require is required", `{"anyOf":[{"properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},{"properties":{"a":{"type":"number"}},"required":["a"]}]}`, `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"}]},"b":{}},"required":["a"],"type":"object"}`},
		{"alternatives by a fixed value, each closed", `{"type":"object","oneOf":[{"properties":{"op":{"const":"create"},"title":{"type":"string"}},"required":["op","title"],"additionalProperties":false},{"properties":{"op":{"const":"delete"},"id":{"type":"integer"}},"required":["op","id"],"additionalProperties":false}]}`,
			`{"additionalProperties":false,"description":"Required: op \"create\" and title, or op \"delete\" and id.","properties":{"id":{"type":"integer"},"op":{"anyOf":[{"const":"create"},{"const":"delete"}]},"title":{"type":"string"}},"required":["op"],"type":"object"}`},
		{"alternatives that only require: the rest stays", `{"type":"object","description":"Finds one.","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["name"]}],"additionalProperties":false}`,
			`{"additionalProperties":false,"description":"Finds one. Required: id, or name.","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"type":"object"}`},
		{"parts of parts, by reference", `{"$defs":{"base":{"allOf":[{"$ref":"#/$defs/named"}],"properties":{"id":{"type":"integer"}},"required":["id"]},"named":{"properties":{"name":{"type":"string"}},"required":["name"]}},"type":"object","allOf":[{"$ref":"#/$defs/base"},{"properties":{"id":{"minimum":1}}}],"unevaluatedProperties":false}`,
			`{"$defs":{"base":{"allOf":[{"$ref":"#/$defs/named"}],"properties":{"id":{"type":"integer"}},"required":["id"]},"named":{"properties":{"name":{"type":"string"}},"required":["name"]}},"additionalProperties":false,"properties":{"id":{"allOf":[{"type":"integer"},{"minimum":1}]},"name":{"type":"string"}},"required":["id","name"],"type":"object"}`},
		{"conditions in parts", `{"type":"object","properties":{"kind":{"type":"string"},"size":{"type":"integer"}},"allOf":[{"if":{"properties":{"kind":{"const":"box"}}},"then":{"required":["size"]}},{"dependentRequired":{"size":["kind"]}}]}`,
			`{"dependentRequired":{"size":["kind"]},"if":{"properties":{"kind":{"const":"box"}}},"properties":{"kind":{"type":"string"},"size":{"type":"integer"}},"then":{"required":["size"]},"type":"object"}`},
		{"a part that is itself", `{"type":"object","allOf":[{"$ref":"#/$defs/A"}],"$defs":{"A":{"properties":{"a":{}},"allOf":[{"$ref":"#/$defs/A"}]}}}`, ``},
		{"many parts that are themselves", `{"type":"object","$ref":"#/$defs/A","$defs":{"A":{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/A"},`, 50) + `{"properties":{"a":{}}}]}}}`, ``},
		{"parts: what any requires is required", `{"type":"object","properties":{"x":{}},"required":["x"],"allOf":[{"properties":{"y":{}},"required":["y"]}],"additionalProperties":false}`, `{"properties":{"x":{},"y":{}},"required":["x","y"],"type":"object"}`},
		{"alternatives deeper down stay", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`},
		{"references, parts, alternatives and what is closed stay as the server wrote them", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"type":"object","properties":{"street":{"type":"string"}},"additionalProperties":false}},"properties":{"name":{"allOf":[{"type":"string"},{"minLength":1}]},"address":{"$ref":"#/$defs/address"},"more":{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#/$defs/address"},{"type":"null"}]}}},"additionalProperties":false}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"type":"object","properties":{"street":{"type":"string"}},"additionalProperties":false}},"properties":{"name":{"allOf":[{"type":"string"},{"minLength":1}]},"address":{"$ref":"#/$defs/address"},"more":{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#/$defs/address"},{"type":"null"}]}}},"additionalProperties":false}`},
		{"no type", `{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"properties that are none", `{"type":"object","properties":null}`, `{"properties":{},"type":"object"}`},
		{"a type that is any", `{"type":"object","properties":{"a":{"type":"any"},"b":{"type":["string","any"]},"c":{"type":"int"}}}`, `{"properties":{"a":{},"b":{},"c":{"type":"integer"}},"type":"object"}`},
		{"an object or null is an object", `{"type":["object","null"]}`, `{"properties":{},"type":"object"}`},
		{"a reference at the root", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`, `{"$defs":{"A":{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}},"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{"older drafts", `{"type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true},"b":{"type":"array","items":[{"type":"string"}],"additionalItems":false},"c":{"type":"string","required":true}}}`, `{"properties":{"a":{"exclusiveMinimum":0,"type":"number"},"b":{"items":false,"prefixItems":[{"type":"string"}],"type":"array"},"c":{"type":"string"}},"type":"object"}`},
		{"names", `{"type":"object","properties":{"$top":{"type":"integer"},"filter[id]":{},"a b":{"description":"Both."}},"required":["$top"]}`, `{"properties":{"a_b":{"description":"Both. (named a b by its server)"},"filter_id":{"description":"(named filter[id] by its server)"},"top":{"description":"(named $top by its server)","type":"integer"}},"required":["top"],"type":"object"}`},
		{"a name that is required without being described", `{"type":"object","properties":{"$a":{}},"required":["a","$a"]}`, ``},
		{"a long name", `{"type":"object","properties":{"` + long + `":{"type":"string"}}}`, ``},
		{"names that become one", `{"type":"object","properties":{"top":{},"$top":{},"@top":{}, "日本":{}, "語":{}}}`, ``},
		{"nonsense", `{"type":"object","properties":{"a":5,"b":{"enum":"x","minLength":-1,"maximum":"9","description":7,"anyOf":[],"items":3,"properties":[],"$defs":null}},"required":"a"}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := schema.Portable(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(got)); c.want != "" && d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if _, err := schema.Parse(got); err != nil {
				t.Error(err)
			}
			accepted(t, got)
		})
	}
	for _, bad := range []string{`{"type":"array"}`, `{"type":["string","null"]}`, `{"$ref":"https://x.example/s"}`, `5`, `null`} {
		if got, _, err := schema.Portable(json.RawMessage(bad)); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

// accepted checks that the Messages API takes a schema.
func accepted(t *testing.T, input json.RawMessage) {
	t.Helper()
	body := fmt.Appendf(nil, `{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"x","input_schema":%s}]}`, input)
	for _, v := range strictapi.Check(http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}, body) {
		t.Errorf("%s: %s", v, input)
	}
}

func TestNamesGoBack(t *testing.T) {
	_, names, err := schema.Portable(json.RawMessage(`{"type":"object","properties":{"$top":{},"plain":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"top":5,"plain":"<a>"}`: `{"$top":5,"plain":"<a>"}`,
		`{"plain": 1}`:            `{"plain": 1}`,
		`5`:                       `5`,
	} {
		if got := string(names.Back(json.RawMessage(in))); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

func FuzzPortable(f *testing.F) {
	f.Add([]byte(`{"anyOf":[{"properties":{"a":{}}},5],"allOf":null,"required":5}`))
	f.Add([]byte(`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}`))
	f.Add([]byte(`{"properties":{"$a":{"type":["any",5]},"":{}},"required":["$a","$a"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, _, err := schema.Portable(raw)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q became %q", raw, got)
		}
		accepted(t, got)
	})
}
