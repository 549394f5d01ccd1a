package schema

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
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
