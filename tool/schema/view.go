package schema

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// A View is a schema as one session sees it.
type View struct {
	json json.RawMessage

	// later derives what is below when it is first asked for; nil means that it is here.
	later   func() *View
	once    sync.Once
	root    *node
	arbiter *jsonschema.Resolved // nil unless the schema has keywords not checked here
}

// derived is v with all that checks inputs.
func (v *View) derived() *View {
	if v.later != nil {
		v.once.Do(func() {
			whole := v.later()
			v.root, v.arbiter = whole.root, whole.arbiter
		})
	}
	return v
}

// draft is the dialect of every schema derived here.
const draft = "https://json-schema.org/draft/2020-12/schema"

func newView(src *source, opts *ViewOptions) *View {
	p := &projector{src: src, opts: opts}
	visible, root := p.project(src.root)
	v := &View{root: root, json: src.raw}
	if v.json == nil {
		visible.Schema = draft
		v.json = encode(visible)
	}
	if p.exotic {
		v.arbiter, _ = visible.Resolve(nil) // unresolvable: see Parse
	}
	return v
}

// JSON returns the JSON Schema. The caller must not modify it.
func (v *View) JSON() json.RawMessage { return v.json }

// A Field is a top-level field of a schema, for people to read about.
type Field struct {
	Name, Type, Description string
	Required                bool
}

// Fields returns the top-level fields in the order they were declared.
func (v *View) Fields() []Field {
	var fields []Field
	root := v.derived().root
	for _, name := range root.order {
		n := root.fields[name]
		fields = append(fields, Field{name, n.expected(), n.description, root.requires(name)})
	}
	return fields
}

// Check validates raw, one JSON object, and returns the input to use: raw itself
// when it is valid as it came, else a repaired copy with the repairs that made
// it valid. Input that cannot be repaired gives an [*Invalid]. Check never panics.
func (v *View) Check(raw json.RawMessage) (json.RawMessage, []Repair, error) {
	value, err := decode(raw)
	if err != nil {
		return nil, nil, &Invalid{Problems: []Problem{{Expected: "one JSON object", Got: err.Error()}}, view: v}
	}
	c := new(checker)
	fixed := c.check(v.derived().root, value, "")
	if len(c.problems) == 0 {
		c.problems = v.arbitrate(fixed)
	}
	if len(c.problems) > 0 {
		return nil, nil, &Invalid{Problems: c.problems, view: v, sent: value}
	}
	if len(c.repairs) == 0 {
		return raw, nil, nil
	}
	return marshal(fixed), c.repairs, nil
}

// arbitrate asks the general validator about keywords that nodes do not check.
func (v *View) arbitrate(value any) []Problem {
	if v.derived().arbiter == nil {
		return nil
	}
	var plain any // with float64 for numbers, as the library wants them
	if err := json.Unmarshal(marshal(value), &plain); err != nil {
		return []Problem{{Expected: "numbers within range", Got: err.Error()}}
	}
	if err := v.arbiter.Validate(plain); err != nil {
		return []Problem{{Expected: "input that matches the schema", Got: err.Error()}}
	}
	return nil
}

// Example returns a small valid input: the required fields with example values.
// It is nil if no valid one can be made, as when a pattern has no example.
func (v *View) Example() json.RawMessage { return v.validExample(v.derived().root.placeholder()) }

// correct returns a valid input as near as possible to what was sent: it keeps
// what can be kept, leaves out what need not be there, and marks what only the
// sender knows. It invents nothing that could be taken for advice.
func (v *View) correct(sent any) json.RawMessage {
	object, _ := sent.(map[string]any)
	return v.validExample(v.derived().root.nearObject(object, "<%s>"))
}

// validExample marshals an example; it returns nil if the example fails the schema.
func (v *View) validExample(example any) json.RawMessage {
	raw := marshal(example)
	if _, _, err := v.Check(raw); err != nil || len(raw) > maxExample {
		return nil
	}
	return raw
}

// maxExample bounds an example: a longer one would not help.
const maxExample = 2_000

// Resolve returns a checked input in which relative paths in top-level fields marked path
// start at dir, and what it changed. All later steps then see one spelling of a file. Paths in
// the home folder (~) and values that are not paths on this system stay unchanged.
func (v *View) Resolve(raw json.RawMessage, dir string) (json.RawMessage, []Repair) {
	if dir == "" || !v.hasPaths() {
		return raw, nil
	}
	value, err := decode(raw)
	input, ok := value.(map[string]any)
	if err != nil || !ok {
		return raw, nil
	}
	var repairs []Repair
	for _, name := range v.derived().root.order {
		given, ok := input[name].(string)
		if !ok || !v.root.fields[name].path || !isRelative(given) {
			continue
		}
		// Not cleaned: a .. after a link must be taken where the link leads.
		input[name] = strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(given, "./")
		repairs = append(repairs, Repair{Path: name, From: quote(given), To: quote(input[name])})
	}
	if repairs == nil {
		return raw, nil
	}
	return marshal(input), repairs
}

func (v *View) hasPaths() bool {
	for _, n := range v.derived().root.fields {
		if n.path {
			return true
		}
	}
	return false
}

func isRelative(path string) bool {
	drive := len(path) > 1 && path[1] == ':'
	return path != "" && !filepath.IsAbs(path) && path[0] != '~' && !drive && !strings.Contains(path, "://") && !strings.ContainsRune(path, 0)
}

// A projector selects what a session sees of a source, and compiles it for checking.
type projector struct {
	src    *source
	opts   *ViewOptions
	exotic bool
}

// project returns a copy of s without what the session must not see, and the
// node that checks it.
func (p *projector) project(s *jsonschema.Schema) (*jsonschema.Schema, *node) {
	c := *s
	n := newNode(s)
	if d := p.src.meta[s]; d != nil {
		n.aliases, n.example, n.path, n.clamp, n.means = d.aliases, d.example, d.path, d.clamp, d.means
		if list := p.opts.Lists[d.list]; d.list != "" && len(list) > 0 {
			c.Enum = anys(list)
			n.enum = c.Enum
		}
	}
	if s.Properties != nil {
		p.projectProperties(s, &c, n)
	}
	if s.Items != nil {
		c.Items, n.items = p.project(s.Items)
	}
	if more := s.AdditionalProperties; more != nil && !refusesAll(more) {
		c.AdditionalProperties, n.more = p.project(more)
	}
	c.AnyOf = nil
	for _, form := range s.AnyOf {
		cf, nf := p.project(form)
		c.AnyOf = append(c.AnyOf, cf)
		n.anyOf = append(n.anyOf, nf)
	}
	p.exotic = p.exotic || hasExotic(s)
	return &c, n
}

func (p *projector) projectProperties(s, c *jsonschema.Schema, n *node) {
	c.Properties = make(map[string]*jsonschema.Schema, len(s.Properties))
	c.PropertyOrder = nil
	n.fields = make(map[string]*node, len(s.Properties))
	for _, name := range propertyNames(s) {
		prop := s.Properties[name]
		if !p.sees(p.src.meta[prop]) {
			n.required = slices.DeleteFunc(n.required, func(r string) bool { return r == name })
			if d := p.src.meta[prop]; d.ignored {
				n.ignored = append(n.ignored, name)
			}
			continue
		}
		c.Properties[name], n.fields[name] = p.project(prop)
		c.PropertyOrder = append(c.PropertyOrder, name)
		for _, alias := range n.fields[name].aliases {
			if n.alias == nil {
				n.alias = make(map[string]string)
			}
			n.alias[alias] = name
		}
	}
	n.order, c.Required = c.PropertyOrder, n.required
}

func (p *projector) sees(d *directives) bool {
	return d == nil || !d.ignored && (!d.hidden || p.opts.Internal) && (d.when == "" || p.opts.Flags[d.when])
}

// propertyNames lists the properties in the order they were declared, or by name.
func propertyNames(s *jsonschema.Schema) []string {
	names := slices.Clone(s.PropertyOrder)
	var rest []string
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
