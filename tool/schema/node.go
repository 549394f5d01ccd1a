package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/shorten"
)

// A node checks one value. It is a schema compiled to what the checker needs.
type node struct {
	kinds       kinds // zero: any
	description string
	enum        []any
	min, max    float64 // ±Inf: none
	xmin, xmax  bool    // the bound itself is excluded
	minLen      int     // of a string in characters, or of an array
	maxLen      int     // -1: none
	pattern     *regexp.Regexp
	items       *node
	anyOf       []*node

	order    []string // declared fields, in order
	fields   map[string]*node
	required []string
	closed   bool  // no fields but the declared ones
	more     *node // what undeclared fields must be; nil: anything
	alias    map[string]string
	ignored  []string // fields that are dropped

	aliases []string
	means   map[string]string
	clamp   bool // a number beyond a bound is taken as the bound
	path    bool // the path of a file, which may be relative
	example string
}

func newNode(s *jsonschema.Schema) *node {
	n := &node{
		description: s.Description,
		enum:        s.Enum,
		min:         math.Inf(-1),
		max:         math.Inf(1),
		maxLen:      -1,
		required:    slices.Clone(s.Required),
		// Fields may also be declared by pattern: then the arbiter decides.
		closed: s.AdditionalProperties != nil && refusesAll(s.AdditionalProperties) && s.PatternProperties == nil,
	}
	for _, t := range append(s.Types, s.Type) {
		n.kinds |= kindNames[t]
	}
	if s.Const != nil {
		n.enum = append(slices.Clone(n.enum), *s.Const)
	}
	n.bound(s)
	if s.Pattern != "" {
		n.pattern, _ = regexp.Compile(s.Pattern) // a dialect Go does not read is not checked
	}
	return n
}

func (n *node) bound(s *jsonschema.Schema) {
	if s.Minimum != nil {
		n.min = *s.Minimum
	}
	if s.Maximum != nil {
		n.max = *s.Maximum
	}
	if s.ExclusiveMinimum != nil && *s.ExclusiveMinimum >= n.min {
		n.min, n.xmin = *s.ExclusiveMinimum, true
	}
	if s.ExclusiveMaximum != nil && *s.ExclusiveMaximum <= n.max {
		n.max, n.xmax = *s.ExclusiveMaximum, true
	}
	for _, low := range []*int{s.MinLength, s.MinItems} {
		if low != nil {
			n.minLen = *low
		}
	}
	for _, high := range []*int{s.MaxLength, s.MaxItems} {
		if high != nil {
			n.maxLen = *high
		}
	}
}

// takesNull reports whether null is a value of its own here, and not absence.
func (n *node) takesNull() bool {
	for _, form := range n.anyOf {
		if form.takesNull() {
			return true
		}
	}
	return len(n.anyOf) == 0 && n.kinds.has(null)
}

func (n *node) allows(v any) bool {
	for _, e := range n.enum {
		if equal(e, v) {
			return true
		}
	}
	return false
}

// equal compares a value of a schema, with float64 numbers, with one of an input.
func equal(e, v any) bool {
	if num, ok := v.(json.Number); ok {
		f, err := strconv.ParseFloat(num.String(), 64)
		ef, isNum := e.(float64)
		return isNum && err == nil && f == ef
	}
	switch e.(type) {
	case nil, bool, string:
		return e == v
	}
	return bytes.Equal(marshal(e), marshal(v))
}

// maxMade bounds what is invented, because a foreign schema may ask for a string
// of a thousand million characters.
const maxMade = 200

// nearest returns a valid value that keeps the valid parts of v, and reports false if
// there is nothing to keep.
func (n *node) nearest(v any) (any, bool) {
	for _, form := range n.anyOf {
		if form.kinds != 0 && form.kinds.has(kindOf(v)) {
			return form.nearest(v)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if n.kinds.has(object) && n.kinds != 0 {
			return n.nearObject(v, "<%s>"), true
		}
	case []any:
		if n.kinds&array != 0 && n.items != nil && len(v) > 0 && len(v) >= n.minLen {
			if item, ok := n.items.nearest(v[0]); ok {
				return []any{item}, true
			}
		}
	}
	if v == nil {
		return nil, false
	}
	c := new(checker)
	fixed := c.check(n, clone(v), "")
	if len(c.problems) > 0 {
		return nil, false
	}
	if s, ok := fixed.(string); ok && n.pattern == nil && n.enum == nil {
		return abridge(s, n.minLen), true
	}
	return fixed, true
}

// nearObject keeps the fields of v that are valid. Required ones that are not are
// written as mark, which has their name, or invented where that is not a value.
func (n *node) nearObject(v map[string]any, mark string) any {
	out := make(map[string]any)
	for name, field := range n.fields {
		if value, sent := v[name]; sent {
			if kept, ok := field.nearest(value); ok {
				out[name] = kept
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if n.fields[name] == nil {
			n.placeUnknown(out, v, name, v[name])
		}
	}
	for _, name := range n.required {
		if _, ok := out[name]; ok {
			continue
		}
		field := n.field(name)
		out[name] = field.placeholder()
		if marked := fmt.Sprintf(mark, name); mark != "" && field.example != "" && (&checker{strict: true}).accepts(field, marked, "") {
			out[name] = marked
		}
	}
	return out
}

// placeUnknown puts a field that is not declared where it was meant: by an older
// name, or by a slip in the name of one that is required.
func (n *node) placeUnknown(out, sent map[string]any, name string, value any) {
	if !n.closed {
		if n.more != nil {
			value, _ = n.more.nearest(value)
		}
		out[name] = value
		return
	}
	if len(sent) > maxMade {
		return // a completely wrong input means nothing
	}
	meant := n.alias[name]
	if guesses := near.Names(name, n.required, 1); meant == "" && len(guesses) > 0 {
		meant = guesses[0]
	}
	if _, taken := sent[meant]; meant == "" || taken {
		return
	}
	if kept, ok := n.field(meant).nearest(value); ok {
		out[meant] = kept
	}
}

// placeholder invents a value.
func (n *node) placeholder() any {
	if n.example != "" {
		if n.kinds&text != 0 {
			return n.example
		}
		if v, err := decode(json.RawMessage(n.example)); err == nil {
			return v
		}
	}
	switch {
	case len(n.anyOf) > 0:
		return n.anyOf[0].placeholder()
	case len(n.enum) > 0:
		return n.enum[0]
	case n.kinds&text != 0:
		return strings.Repeat("…", min(max(1, n.minLen), maxMade))
	case n.kinds&(integer|float) != 0:
		return n.inRange()
	case n.kinds&boolean != 0:
		return true
	case n.kinds&array != 0:
		list := []any{}
		for range min(max(n.minLen, 1), maxMade) {
			if n.items != nil && (n.maxLen < 0 || len(list) < n.maxLen) {
				list = append(list, n.items.placeholder())
			}
		}
		return list
	case n.kinds&object != 0:
		return n.nearObject(nil, "")
	}
	return nil
}

func (n *node) inRange() any {
	low := n.min
	if n.xmin {
		low++
	}
	switch {
	case !math.IsInf(low, -1):
		return max(1, low)
	case n.max < 1:
		return n.max
	}
	return 1
}

// abridge cuts a long string out of an example: its sender knows the rest.
func abridge(s string, atLeast int) string {
	const keep = 40
	return shorten.To(s, max(keep, atLeast))
}

// expected says in words what n wants.
func (n *node) expected() string {
	switch {
	case len(n.anyOf) > 0:
		forms := make([]string, len(n.anyOf))
		for i, form := range n.anyOf {
			forms[i] = form.expected()
		}
		return strings.Join(forms, ", or ")
	case len(n.enum) > 0:
		values := make([]string, len(n.enum))
		for i, e := range n.enum {
			values[i] = quote(e)
		}
		return "one of " + strings.Join(values, ", ")
	case n.kinds == 0:
		return "a value"
	}
	return n.kinds.String() + n.bounds()
}

func (n *node) bounds() string {
	var b string
	switch {
	case n.kinds&(integer|float) != 0:
		b = span(n.min, n.max, "")
	case n.kinds&text != 0 && (n.minLen > 0 || n.maxLen >= 0):
		b = span(lower(n.minLen), upper(n.maxLen), " characters")
	case n.kinds&array != 0 && (n.minLen > 0 || n.maxLen >= 0):
		b = span(lower(n.minLen), upper(n.maxLen), " items")
	case n.kinds&object != 0 && len(n.order) > 0:
		b = " with " + strings.Join(n.order, ", ")
	}
	if n.pattern != nil {
		b += " matching " + n.pattern.String()
	}
	return b
}

func lower(n int) float64 {
	if n == 0 {
		return math.Inf(-1)
	}
	return float64(n)
}

func upper(n int) float64 {
	if n < 0 {
		return math.Inf(1)
	}
	return float64(n)
}

// span says a range in words. With a unit it counts something, without it is a value.
func span(low, high float64, unit string) string {
	l, h := strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64)
	switch {
	case math.IsInf(low, -1) && math.IsInf(high, 1):
		return ""
	case math.IsInf(high, 1):
		return " of at least " + l + unit
	case math.IsInf(low, -1):
		return " of at most " + h + unit
	}
	if unit != "" {
		return " of " + l + " to " + h + unit
	}
	return " from " + l + " to " + h
}

func (n *node) field(name string) *node {
	if f := n.fields[name]; f != nil {
		return f
	}
	return new(node)
}

func (n *node) requires(name string) bool {
	for _, r := range n.required {
		if r == name {
			return true
		}
	}
	return false
}

// candidate reads v as the type that n wants, if there is one way to do so.
func (n *node) candidate(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		if len(n.enum) > 0 && n.kinds.has(text) {
			return n.fromWord(v)
		}
		return n.fromText(v)
	case json.Number:
		if f, err := v.Float64(); n.clamp && err == nil && (f < n.min || f > n.max) {
			return json.Number(strconv.FormatFloat(min(max(f, n.min), n.max), 'f', -1, 64)), true
		}
		if n.kinds&integer != 0 {
			return wholeNumber(v)
		}
		if n.kinds.has(text) && kindOf(v) == integer { // an id such as 5
			return v.String(), true
		}
	}
	return nil, false
}

// fromWord finds the value that a word stands for: one that the schema knows, or
// the only one that is spelled like it but for case, blanks and hyphens.
func (n *node) fromWord(word string) (any, bool) {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	if meant, ok := n.means[strings.ToLower(strings.TrimSpace(word))]; ok {
		return meant, true
	}
	var found []any
	for _, e := range n.enum {
		if s, ok := e.(string); ok && plain(s) == plain(word) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return nil, false
	}
	return found[0], true
}

// fromText reads the JSON inside a string, if its type is one that n wants.
func (n *node) fromText(s string) (any, bool) {
	inner, err := decode(json.RawMessage(s))
	if err != nil {
		return nil, false
	}
	kind := kindOf(inner)
	if kind == text || kind == null || !n.kinds.has(kind) {
		return nil, false
	}
	return inner, true
}

// wholeNumber writes 5.0 or 5e0 as 5, if it is short enough for the conversion to
// be exact.
func wholeNumber(v json.Number) (any, bool) {
	const exactDigits = 15
	f, err := strconv.ParseFloat(v.String(), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 || len(v) > exactDigits {
		return nil, false
	}
	return json.Number(strconv.FormatInt(int64(f), 10)), true
}

// kinds is a set of JSON types.
type kinds uint8

const (
	null kinds = 1 << iota
	boolean
	integer
	float
	text
	array
	object
)

var kindNames = map[string]kinds{
	"null": null, "boolean": boolean, "integer": integer, "number": float,
	"string": text, "array": array, "object": object,
}

var kindOrder = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

func (k kinds) has(other kinds) bool {
	return k == 0 || k&other != 0 || other == integer && k&float != 0
}

func (k kinds) String() string {
	var names []string
	for _, name := range kindOrder {
		if k&kindNames[name] != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// refusesAll reports whether s is the schema false, which the library holds as {"not": {}}.
func refusesAll(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}

// hasExotic reports whether s itself has a keyword that node does not check.
func hasExotic(s *jsonschema.Schema) bool {
	return s.Ref != "" || s.DynamicRef != "" || s.AllOf != nil || s.OneOf != nil ||
		s.If != nil || s.MultipleOf != nil || s.UniqueItems || s.Contains != nil ||
		s.PrefixItems != nil || s.ItemsArray != nil || s.AdditionalItems != nil || s.UnevaluatedItems != nil ||
		s.MinProperties != nil || s.MaxProperties != nil || s.PatternProperties != nil ||
		s.PropertyNames != nil || s.UnevaluatedProperties != nil || s.DependentRequired != nil ||
		s.DependentSchemas != nil || s.DependencySchemas != nil || s.DependencyStrings != nil ||
		s.Not != nil || s.Const != nil && s.Enum != nil
}
