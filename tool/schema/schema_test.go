package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/tool/schema"
)

// sample has one field of each kind that a tool may need.
type sample struct {
	FilePath string            `json:"file_path" jsonschema:"Absolute path of the file." haft:"alias=path|filename;example=/src/main.go"`
	Limit    int               `json:"limit,omitempty" jsonschema:"Lines to read." haft:"min=1;max=2000;default=2000"`
	Ratio    float64           `json:"ratio,omitempty" haft:"min=0"`
	Mode     string            `json:"mode,omitempty" haft:"enum=content|count;default=content"`
	Deep     bool              `json:"deep,omitempty"`
	Name     string            `json:"name,omitempty" haft:"min=2;max=8;example=abc;pattern=^[a-z;]+$"`
	Edits    []edit            `json:"edits,omitempty" haft:"min=1;max=3"`
	Env      map[string]string `json:"env,omitempty"`
	Target   target            `json:"target,omitzero"`
	Agent    string            `json:"agent,omitempty" haft:"enum=@agents"`
	Later    bool              `json:"later,omitempty" haft:"when=background"`
	Preview  *edit             `json:"_preview,omitempty" haft:"hidden"`
	Anything json.RawMessage   `json:"anything,omitempty"`
}

type edit struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all,omitempty"`
}

// target is a path, or a line of a path.
type target struct {
	path string
	line int
}

type place struct {
	Path string `json:"path"`
	Line int    `json:"line" haft:"min=1"`
}

func (target) Variants() []any { return []any{"", place{}} }

func (t *target) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &t.path); err == nil {
		return nil
	}
	var p place
	err := json.Unmarshal(b, &p)
	t.path, t.line = p.Path, p.Line
	return err
}

func TestJSONIsWhatTheModelSees(t *testing.T) {
	s := schema.Of[sample]()
	golden.Check(t, "testdata/model.json", indent(t, s.View(nil).JSON()))
	full := s.View(&schema.ViewOptions{
		Internal: true,
		Flags:    map[string]bool{"background": true},
		Lists:    map[string][]string{"agents": {"explore", "plan"}},
	})
	golden.Check(t, "testdata/internal.json", indent(t, full.JSON()))
}

func TestViewsAreBuiltOncePerShape(t *testing.T) {
	s := schema.Of[sample]()
	on := &schema.ViewOptions{Flags: map[string]bool{"background": true, "unrelated": true}}
	alsoOn := &schema.ViewOptions{Flags: map[string]bool{"background": true}}
	if s.View(on) != s.View(alsoOn) {
		t.Error("two sessions that agree on what the schema depends on got two views")
	}
	if s.View(nil) == s.View(on) {
		t.Error("a flag that removes a field did not change the view")
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		repairs        []string
	}{
		{name: "valid input is returned as it came", in: `{ "file_path":"/a", "limit":5 }`, want: `{ "file_path":"/a", "limit":5 }`},
		{name: "a digit string is read as a number", in: `{"file_path":"/a","limit":"5"}`, want: `{"file_path":"/a","limit":5}`,
			repairs: []string{`limit: "5" was read as 5`}},
		{name: "a whole fraction is read as an integer", in: `{"file_path":"/a","limit":5.0}`, want: `{"file_path":"/a","limit":5}`,
			repairs: []string{`limit: 5.0 was read as 5`}},
		{name: "an integer is read as a string of its digits where an id is wanted", in: `{"file_path":"/a","env":{"task_id":1}}`, want: `{"env":{"task_id":"1"},"file_path":"/a"}`,
			repairs: []string{`env.task_id: 1 was read as "1"`}},
		{name: "true in quotes is read as true", in: `{"file_path":"/a","deep":"true"}`, want: `{"deep":true,"file_path":"/a"}`,
			repairs: []string{`deep: "true" was read as true`}},
		{name: "an array in quotes is read as an array", in: `{"file_path":"/a","edits":"[{\"old\":\"x\",\"new\":\"<\"}]"}`,
			want:    `{"edits":[{"new":"<","old":"x"}],"file_path":"/a"}`,
			repairs: []string{`edits: "[{\"old\":\"x\",\"new\":\"<\"}]" was read as [{"new":"<","old":"x"}]`}},
		{name: "null for an optional field is absence", in: `{"file_path":"/a","limit":null}`, want: `{"file_path":"/a"}`,
			repairs: []string{`limit: null was read as absent`}},
		{name: "an older name is renamed", in: `{"path":"/a"}`, want: `{"file_path":"/a"}`,
			repairs: []string{`path: the name path was read as the name file_path`}},
		{name: "a string that looks like a number stays a string where a string is wanted", in: `{"file_path":"5"}`, want: `{"file_path":"5"}`},
		{name: "each form of a union is valid", in: `{"file_path":"/a","target":{"path":"b","line":2}}`, want: `{"file_path":"/a","target":{"path":"b","line":2}}`},
		{name: "a form of a union is repaired when only one fits", in: `{"file_path":"/a","target":{"path":"b","line":"2"}}`,
			want: `{"file_path":"/a","target":{"line":2,"path":"b"}}`, repairs: []string{`target.line: "2" was read as 2`}},
		{name: "null for an optional union is absence", in: `{"file_path":"/a","target":null}`, want: `{"file_path":"/a"}`,
			repairs: []string{`target: null was read as absent`}},
		{name: "a large integer keeps its digits", in: `{"file_path":"/a","limit":"7","anything":12345678901234567890}`,
			want: `{"anything":12345678901234567890,"file_path":"/a","limit":7}`, repairs: []string{`limit: "7" was read as 7`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, repairs, err := schema.Of[sample]().View(nil).Check(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, r := range repairs {
				texts = append(texts, r.String())
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if d := cmp.Diff(c.repairs, texts); d != "" {
				t.Errorf("repairs (-want +got):\n%s", d)
			}
		})
	}
}

func TestInvalidInputIsExplainedToTheModel(t *testing.T) {
	inputs := []struct{ name, in string }{
		{"missing", `{}`},
		{"unknown, near a known name", `{"file_path":"/a","file-limit":3,"limt":3}`},
		{"unknown, near nothing", `{"file_path":"/a","zzz":3}`},
		{"old name beside the new", `{"file_path":"/a","path":"/b"}`},
		{"wrong type", `{"file_path":true}`},
		{"a number for a path", `{"file_path":7}`},
		{"out of range", `{"file_path":"/a","limit":0,"ratio":-0.5}`},
		{"far out of range", `{"file_path":"/a","limit":1e400}`},
		{"a fraction for an integer", `{"file_path":"/a","limit":2.5}`},
		{"not in the list", `{"file_path":"/a","mode":"lines"}`},
		{"too long and not matching", `{"file_path":"/a","name":"ABCDEFGHIJ"}`},
		{"in an array", `{"file_path":"/a","edits":[{"old":"x","new":"y"},{"old":"x","nwe":"y"}]}`},
		{"too many", `{"file_path":"/a","edits":[{},{},{},{}]}`},
		{"too few", `{"file_path":"/a","edits":[]}`},
		{"in a map", `{"file_path":"/a","env":{"A":1.5}}`},
		{"no form of a union", `{"file_path":"/a","target":{"path":"b"}}`},
		{"an integer written too long to be sure", `{"file_path":"/a","limit":1.00000000000000000001}`},
		{"null for a required field", `{"file_path":null}`},
		{"a hidden field", `{"file_path":"/a","_preview":{"old":"x","new":"y"}}`},
		{"a field of another session", `{"file_path":"/a","later":true}`},
		{"a string that holds no array", `{"file_path":"/a","edits":"x"}`},
		{"a string that holds a bad array", `{"file_path":"/a","edits":"[{}]"}`},
		{"a long value", `{"file_path":["` + strings.Repeat("x", 300) + `"]}`},
		{"an array", `[1]`},
		{"wrong everywhere", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1}`},
	}
	var b strings.Builder
	for _, c := range inputs {
		_, _, err := schema.Of[sample]().View(nil).Check(json.RawMessage(c.in))
		var invalid *schema.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %v, want *schema.Invalid", c.name, err)
			continue
		}
		fmt.Fprintf(&b, "== %s\n%s\n--\n%s\n\n", c.name, c.in, err)
	}
	golden.Check(t, "testdata/invalid.txt", b.String())
}

func TestAHiddenFieldIsAcceptedFromTheHarness(t *testing.T) {
	in := json.RawMessage(`{"file_path":"/a","_preview":{"old":"x","new":"y"}}`)
	if _, _, err := schema.Of[sample]().View(&schema.ViewOptions{Internal: true}).Check(in); err != nil {
		t.Error(err)
	}
}

func TestListsRestrictAField(t *testing.T) {
	view := schema.Of[sample]().View(&schema.ViewOptions{Lists: map[string][]string{"agents": {"explore"}}})
	if _, _, err := view.Check(json.RawMessage(`{"file_path":"/a","agent":"explore"}`)); err != nil {
		t.Error(err)
	}
	if _, _, err := view.Check(json.RawMessage(`{"file_path":"/a","agent":"other"}`)); err == nil {
		t.Error("an agent that is not in the list was accepted")
	}
}

func TestAWrongTypeIsAnErrorOfTheProgram(t *testing.T) {
	for name, s := range map[string]*schema.Schema{
		"not a struct": schema.Of[int](),
		"an unknown directive": schema.Of[struct {
			A int `haft:"most=3"`
		}](),
		"a bound on a boolean": schema.Of[struct {
			A bool `haft:"min=3"`
		}](),
		"a bound that is none": schema.Of[struct {
			A float64 `haft:"min=NaN"`
		}](),
		"a negative length": schema.Of[struct {
			A string `haft:"min=-1"`
		}](),
		"bounds that cross": schema.Of[struct {
			A int `haft:"min=9;max=1"`
		}](),
		"a broken pattern": schema.Of[struct {
			A string `haft:"pattern=("`
		}](),
		"a default of another type": schema.Of[struct {
			A int `haft:"default=x"`
		}](),
		"a default out of bounds": schema.Of[struct {
			A int `haft:"max=3;default=4"`
		}](),
		"one alias for two fields": schema.Of[struct {
			A int `json:"a" haft:"alias=x"`
			B int `json:"b" haft:"alias=x"`
		}](),
		"an alias that is a field": schema.Of[struct {
			A int `json:"a" haft:"alias=b"`
			B int `json:"b"`
		}](),
		"a channel":                  schema.Of[struct{ A chan int }](),
		"a hidden field in a union":  schema.Of[struct{ A hiding }](),
		"a union of nothing":         schema.Of[struct{ A void }](),
		"a type that decodes itself": schema.Of[struct{ A time.Time }](),
		"a number of fewer digits":   schema.Of[struct{ A float32 }](),
		"a number inside a string": schema.Of[struct {
			A int `json:"a,string"`
		}](),
		"an embedded struct with a name": schema.Of[struct {
			Edit `json:"inner"`
		}](),
	} {
		if s.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Edit is embedded by a wrong type.
type Edit struct{ A int }

type void struct{}

func (void) Variants() []any { return []any{nil} }

type hiding struct{}

func (hiding) Variants() []any {
	return []any{struct {
		A int `haft:"hidden"`
	}{}}
}

func TestForeignSchemas(t *testing.T) {
	parse := func(raw string) *schema.View {
		t.Helper()
		s, err := schema.Parse(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		return s.View(nil)
	}
	for _, c := range []struct{ name, schema, good, bad string }{
		{"plain keywords", `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}},"required":["n"]}`, `{"n":1,"other":true}`, `{"n":0}`},
		{"a reference", `{"type":"object","properties":{"n":{"$ref":"#/$defs/pos"}},"$defs":{"pos":{"type":"integer","minimum":1}}}`, `{"n":1}`, `{"n":0}`},
		{"fields by pattern", `{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"x-a":"b"}`, `{"a":"b"}`},
		{"one of", `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, `{"a":1,"b":2}`},
		{"a constant", `{"type":"object","properties":{"k":{"const":"v"}}}`, `{"k":"v"}`, `{"k":"w"}`},
		{"no type", `{"properties":{"a":{"type":"string"}}}`, `{"a":"b"}`, `{"a":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := parse(c.schema)
			if _, _, err := v.Check(json.RawMessage(c.good)); err != nil {
				t.Errorf("good input: %v", err)
			}
			if _, _, err := v.Check(json.RawMessage(c.bad)); err == nil {
				t.Error("bad input was accepted")
			}
		})
	}
}

func TestAMalformedForeignSchemaIsRefused(t *testing.T) {
	for _, raw := range []string{
		`{"type":"array"}`, `[]`, `{"type":"object","properties":{"a":null}}`, `{"properties":{"a":{"items":null,"anyOf":[null]}}}`, `{"type":5}`,
	} {
		if _, err := schema.Parse(json.RawMessage(raw)); err == nil {
			t.Errorf("%s was accepted", raw)
		}
	}
}

// A schema is a stranger's text: whatever it demands, a refusal costs little.
func TestAForeignSchemaCannotExhaustMemory(t *testing.T) {
	s, err := schema.Parse(json.RawMessage(`{"properties":{
		"a":{"type":"string","minLength":1000000000},
		"b":{"type":"array","minItems":1000000000,"items":{"type":"string"}}},"required":["a","b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.View(nil).Check(json.RawMessage(`{}`)); err == nil || len(err.Error()) > 4_000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

func TestAWhollyWrongInputIsRefusedFast(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"` + strings.Repeat("n", 1<<20) + `":1`)
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"limt%d":%d`, i, i)
	}
	b.WriteString("}")
	began := time.Now()
	_, _, err := schema.Of[sample]().View(nil).Check(json.RawMessage(b.String()))
	if err == nil || len(err.Error()) > 4_000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestOnlyOneValueIsAnInput(t *testing.T) {
	for _, in := range []string{`{"file_path":"/a"}}`, `{"file_path":"/a"}]`, `{"file_path":"/a"} {}`, `{"file_path":"/a"`, ``} {
		if _, _, err := schema.Of[sample]().View(nil).Check(json.RawMessage(in)); err == nil {
			t.Errorf("%s was accepted", in)
		}
	}
}

func TestAnOutputMayHoldWhatGoWrites(t *testing.T) {
	type output struct {
		At    time.Time `json:"at"`
		Names []string  `json:"names" haft:"max=3"`
		Next  *int      `json:"next"`
	}
	raw, err := json.Marshal(output{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := schema.OfOutput[output]().View(nil).Check(raw); err != nil {
		t.Error(err)
	}
}

// FuzzCheck holds Check against a general validator of the very schema the model sees.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"file_path":"/a","limit":5}`, `{"path":"/a","limit":"5"}`, `{"file_path":"/a","edits":"[{\"old\":\"a\",\"new\":\"b\"}]"}`,
		`{"file_path":"/a","target":{"path":"b","line":"2"}}`, `{"file_path":"/a","limit":1e2,"deep":"true","env":{"a":"b"}}`,
		`{"file_path":null,"limit":null}`, `[]`, `{"file_path":"a","ratio":"1e999"}`,
	} {
		f.Add(seed)
	}
	view := schema.Of[sample]().View(nil)
	var model jsonschema.Schema
	if err := json.Unmarshal(view.JSON(), &model); err != nil {
		f.Fatal(err)
	}
	arbiter, err := model.Resolve(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var before any
		if json.Unmarshal([]byte(in), &before) != nil {
			return
		}
		got, repairs, err := view.Check(json.RawMessage(in))
		valid := arbiter.Validate(before) == nil
		if err != nil {
			_ = err.Error()
			if valid && !longNumber.MatchString(in) {
				t.Fatalf("%s is valid, Check said %v", in, err)
			}
			return
		}
		for _, r := range repairs {
			if valid && !isNumber(r.From) {
				t.Fatalf("%s was valid, and yet repaired: %s", in, r)
			}
		}
		if len(repairs) == 0 && string(got) != in {
			t.Fatalf("changed without a repair: %s became %s", in, got)
		}
		if again, more, err := view.Check(got); err != nil || len(more) > 0 || string(again) != string(got) {
			t.Fatalf("repaired input %s does not pass as it is: %v %v", got, more, err)
		}
		var after any
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatal(err)
		}
		if err := arbiter.Validate(after); err != nil {
			t.Fatalf("%s (from %s) was accepted, the arbiter says %v", got, in, err)
		}
		var typed sample
		if err := json.Unmarshal(got, &typed); err != nil {
			t.Fatalf("checked input does not decode: %v", err)
		}
	})
}

// isNumber reports whether a repaired value was a number, which the arbiter takes
// for an integer when it is written as 5.0.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// longNumber finds numbers written with so many digits that the arbiter, which
// has only a float64 of them, and Check may differ.
var longNumber = regexp.MustCompile(`[-+.0-9eE]{16,}`)

func BenchmarkCheckTypicalInput(b *testing.B) {
	view := schema.Of[sample]().View(nil)
	in := json.RawMessage(`{"file_path":"/src/main.go","limit":200,"edits":[{"old":"a","new":"b"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := view.Check(in); err != nil {
			b.Fatal(err)
		}
	}
}

func indent(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

func TestAnIgnoredFieldIsDroppedAndDisclosed(t *testing.T) {
	s := schema.Of[struct {
		Name  string         `json:"name"`
		Extra map[string]any `json:"extra,omitempty" haft:"ignored"`
	}]()
	view := s.View(nil)
	if strings.Contains(string(view.JSON()), "extra") {
		t.Errorf("the model is told of it: %s", view.JSON())
	}
	got, repairs, err := view.Check([]byte(`{"name":"a","extra":{"b":1}}`))
	if err != nil || string(got) != `{"name":"a"}` || len(repairs) != 1 || !strings.Contains(repairs[0].String(), "extra") {
		t.Errorf("%s %v %v", got, repairs, err)
	}
}
