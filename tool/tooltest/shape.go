package tooltest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/haftdev/haft/tool"
)

func (s *Subject) words(t *testing.T) {
	d := s.Tool.Describe(s.Session)
	if strings.TrimSpace(d) == "" {
		t.Error("the description is empty")
	}
	if d != s.Tool.Describe(s.Session) {
		t.Error("the description changes from call to call: the prompt cache would never hit")
	}
	if s.Tool.Prompt != nil {
		if first := s.Tool.Prompt(s.Session); first != s.Tool.Prompt(s.Session) {
			t.Error("the prompt changes from call to call")
		}
	}
	if n := s.Tool.ResultLimit(); n > maxLimit {
		t.Errorf("a result may have %d characters, more than any conversation should take", n)
	}
	if s.Tool.Deferred && s.Tool.SearchHint == "" {
		t.Error("a deferred tool without a search hint is hard to find")
	}
}

func (s *Subject) schema(t *testing.T) {
	raw := s.Tools.View(&s.Tool).JSON()
	if !bytes.Equal(raw, s.Tools.View(&s.Tool).JSON()) {
		t.Error("the schema changes from call to call")
	}
	var sch jsonschema.Schema
	if err := json.Unmarshal(raw, &sch); err != nil {
		t.Fatalf("the schema is not a JSON Schema: %v", err)
	}
	if _, err := sch.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		t.Errorf("the schema does not resolve: %v", err)
	}
	if sch.Type != "object" {
		t.Errorf("the schema's type is %q, want object", sch.Type)
	}
	if s.Tool.Source == "" && !bytes.Contains(raw, []byte(`"additionalProperties":false`)) {
		t.Error("the schema lets unknown fields through")
	}
	for name, p := range sch.Properties {
		if s.Tool.Source == "" && p.Description == "" {
			t.Errorf("the field %s is not described", name)
		}
	}
	if example := s.Tools.View(&s.Tool).Example(); s.Tool.Source == "" && example == nil {
		t.Error("no correct example can be made from the schema for error messages: give the fields with patterns an example")
	}
}

func (s *Subject) accepts(t *testing.T) {
	for _, in := range s.Valid {
		fixed, repairs, err := s.Tools.View(&s.Tool).Check([]byte(in))
		switch {
		case err != nil:
			t.Errorf("input %s: %v", in, err)
		case len(repairs) > 0 || string(fixed) != in:
			t.Errorf("input %s was changed to %s: %v", in, fixed, repairs)
		}
	}
}

func (s *Subject) marks(t *testing.T) {
	for _, in := range s.Valid {
		m := s.Tool.MarksOf(s.call(t, in))
		if m.ReadOnly && m.Destructive {
			t.Errorf("input %s: a read-only call cannot be destructive", in)
		}
		if m.Effect == tool.Pure && !m.ReadOnly {
			t.Errorf("input %s: a call without effect is read-only", in)
		}
		if s.Tool.Marks == nil && (m != tool.Marks{}) {
			t.Errorf("input %s: marks out of nowhere: %+v", in, m)
		}
	}
}

// survives sends inputs that are wrong in every simple way, and asks everything
// but Run about those that the schema lets through.
func (s *Subject) survives(t *testing.T) {
	for _, valid := range s.Valid {
		for _, in := range mutations(t, valid) {
			s.ask(t, in)
		}
	}
}

func (s *Subject) ask(t *testing.T, in string) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("input %s: panic: %v", in, p)
		}
	}()
	fixed, _, err := s.Tools.View(&s.Tool).Check([]byte(in))
	if err != nil {
		if err.Error() == "" {
			t.Errorf("input %s: an error without words", in)
		}
		return
	}
	c := s.call(t, string(fixed))
	s.Tool.MarksOf(c)
	if s.Tool.Validate != nil {
		if p := s.Tool.Validate(t.Context(), c); p != nil && strings.TrimSpace(p.Message) == "" {
			t.Errorf("input %s: a problem without words", in)
		}
	}
	if s.Tool.Permission != nil {
		s.Tool.Permission(t.Context(), c)
	}
	if s.Tool.Classify != nil {
		s.Tool.Classify(c)
	}
	if s.Tool.Summarize != nil && strings.Contains(s.Tool.Summarize(c), "\n") {
		t.Errorf("input %s: the summary has more than one line", in)
	}
}

// mutations returns inputs near to valid that may be wrong.
func mutations(t *testing.T, valid string) []string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(valid), &fields); err != nil {
		t.Fatalf("input %s: %v", valid, err)
	}
	out := []string{`{}`, `[]`, `null`, `""`, `0`, `{"no_such_field":1}`, strings.Repeat(`{"a":`, 50) + `1` + strings.Repeat(`}`, 50)}
	wrong := []any{nil, true, 0, -1, 1e300, 0.5, "", "x", "5", "true", "[]", "\x00", "é\n", strings.Repeat("y", 5000), []any{}, []any{nil}, map[string]any{}, map[string]any{"a": 1}}
	for name, value := range fields {
		for _, w := range wrong {
			fields[name] = w
			out = append(out, encode(t, fields))
		}
		delete(fields, name)
		out = append(out, encode(t, fields))
		fields[name] = value
	}
	return out
}

func encode(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
