package elicit_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/haftdev/haft/internal/world/mcp/elicit"
)

// TestKinds fills in every kind of field that the specification has.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name, property string
		kind           elicit.Kind
		titles         []string
		def            string            // what is there to begin with
		good           map[string]string // typed → sent
		bad            []string
	}{
		{"text", `{"type":"string","default":"Bern"}`, elicit.Text, nil, "Bern", map[string]string{"Basel": `"Basel"`, " a b ": `"a b"`, "": ""}, nil},
		{"text of a length", `{"type":"string","minLength":2,"maxLength":3}`, elicit.Text, nil, "", map[string]string{"漢字": `"漢字"`, "abc": `"abc"`}, []string{"a", "abcd"}},
		{"an email address", `{"type":"string","format":"email"}`, elicit.Text, nil, "", map[string]string{"a@b.example": `"a@b.example"`}, []string{"a", "A <a@b.example>"}},
		{"an address", `{"type":"string","format":"uri"}`, elicit.Text, nil, "", map[string]string{"https://a.example/x": `"https://a.example/x"`}, []string{"a.example"}},
		{"a date", `{"type":"string","format":"date"}`, elicit.Text, nil, "", map[string]string{"2026-02-28": `"2026-02-28"`}, []string{"2026-02-30", "28.2.2026"}},
		{"a time", `{"type":"string","format":"date-time"}`, elicit.Text, nil, "", map[string]string{"2026-02-28T12:00:00+01:00": `"2026-02-28T12:00:00+01:00"`}, []string{"2026-02-28"}},
		{"a whole number", `{"type":"integer","minimum":1,"maximum":5,"default":2}`, elicit.Integer, nil, "2", map[string]string{"5": "5", "1": "1"}, []string{"0", "6", "2.5", "x", "0x2"}},
		{"a number", `{"type":"number","minimum":0.5}`, elicit.Number, nil, "", map[string]string{"2.5": "2.5", "1e3": "1e3"}, []string{"0.4", "NaN", "Inf", ".5."}},
		{"yes or no", `{"type":"boolean","default":true}`, elicit.YesNo, []string{"yes", "no"}, "1", map[string]string{"1": "true", "2": "false", "no": "false", "Y": "true"}, []string{"maybe"}},
		{"one of some", `{"type":"string","enum":["a","b"],"default":"b"}`, elicit.One, []string{"a", "b"}, "2", map[string]string{"1": `"a"`, "B": `"b"`}, []string{"3", "c"}},
		{"one of some, with the older names", `{"type":"string","enum":["a","b"],"enumNames":["Apple","Pear"]}`, elicit.One, []string{"Apple", "Pear"}, "", map[string]string{"apple": `"a"`, "2": `"b"`}, nil},
		{"one of some with titles", `{"type":"string","oneOf":[{"const":"a","title":"Apple"},{"const":"b","title":"Pear"}],"default":"b"}`, elicit.One, []string{"Apple", "Pear"}, "2", map[string]string{"Pear": `"b"`}, nil},
		{"some of many", `{"type":"array","items":{"type":"string","enum":["a","b","c"]},"minItems":1,"maxItems":2,"default":["a","c"]}`, elicit.Many, []string{"a", "b", "c"}, "1,3", map[string]string{"1,3": `["a","c"]`, "b, b": `["b"]`}, []string{"1,2,3", "1,4"}},
		{"some of many with titles", `{"type":"array","items":{"anyOf":[{"const":"a","title":"Apple"},{"const":"b","title":"Pear"}]}}`, elicit.Many, []string{"Apple", "Pear"}, "", map[string]string{"Pear,1": `["b","a"]`, "": ""}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields, err := elicit.Fields(json.RawMessage(`{"type":"object","properties":{"x":`+c.property+`}}`), nil)
			if err != nil || len(fields) != 1 {
				t.Fatalf("%v, %d fields", err, len(fields))
			}
			f := fields[0]
			var titles []string
			for _, o := range f.Options {
				titles = append(titles, o.Title)
			}
			if d := cmp.Diff(c.titles, titles); d != "" || f.Kind != c.kind || f.Default != c.def {
				t.Errorf("kind %d, default %q, titles (-want +got):\n%s", f.Kind, f.Default, d)
			}
			if _, err := f.Value(f.Default); err != nil {
				t.Errorf("the default %q is refused: %v", f.Default, err)
			}
			for typed, want := range c.good {
				got, err := f.Value(typed)
				if err != nil || string(got) != want {
					t.Errorf("%q gave %s, %v; want %s", typed, got, err, want)
				}
				if got != nil {
					fits(t, c.property, got)
				}
			}
			for _, typed := range c.bad {
				if got, err := f.Value(typed); err == nil {
					t.Errorf("%q was taken as %s", typed, got)
				}
			}
		})
	}
}

// fits holds a value against its schema as a server's library would.
func fits(t *testing.T, property string, value json.RawMessage) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(property), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(v); err != nil {
		t.Errorf("%s does not fit %s: %v", value, property, err)
	}
}

func TestAFormKeepsItsOrder(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["zip"],"properties":{"zip":{"type":"string","title":"Zip code","description":"Of your home.","minLength":4},"city":{"type":"string"},"age":{"type":"integer"}}}`)
	fields, err := elicit.Fields(schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fields {
		got = append(got, f.Label)
	}
	if d := cmp.Diff([]string{"Zip code", "city", "age"}, got); d != "" {
		t.Error(d)
	}
	if f := fields[0]; f.Help != "Of your home. (at least 4 characters)" || !f.Required {
		t.Errorf("%q, required %v", f.Help, f.Required)
	}
	if raw, err := elicit.Content(fields, map[string]string{"zip": "3000", "age": "7"}); err != nil || string(raw) != `{"age":7,"zip":"3000"}` {
		t.Errorf("%s, %v", raw, err)
	}
	if _, err := elicit.Content(fields, map[string]string{"age": "7"}); err == nil || err.Error() != "Zip code: a value is required" {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoForm(t *testing.T) {
	for _, schema := range []string{``, `{`, `{"properties":{"x":{"type":"object"}}}`, `{"properties":{"x":{"type":"array"}}}`, `{"properties":{"x":{"type":"string","enum":[]}}}`, `{"properties":{"x":3}}`, `{"required":3}`} {
		if fields, err := elicit.Fields(json.RawMessage(schema), nil); err == nil {
			t.Errorf("%s has the fields %v", schema, fields)
		}
	}
}
