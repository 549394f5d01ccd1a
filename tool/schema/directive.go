package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// directives are the parsed haft tag of one field.
type directives struct {
	min, max *float64
	enum     []string
	list     string // enum=@list
	deflt    string
	example  string
	aliases  []string
	hidden   bool
	ignored  bool
	path     bool
	clamp    bool
	means    map[string]string // other words for values of enum
	when     string
	pattern  string
}

func (d *directives) set(word string) (err error) {
	name, value, hasValue := strings.Cut(word, "=")
	if hasValue == (name == "hidden" || name == "ignored" || name == "path" || name == "clamp") || hasValue && value == "" {
		return fmt.Errorf("directive %q: all directives except hidden, ignored, path and clamp need a value", word)
	}
	switch name {
	case "min":
		d.min, err = number(value)
	case "max":
		d.max, err = number(value)
	case "enum":
		if list, ok := strings.CutPrefix(value, "@"); ok {
			d.list = list
		} else {
			d.enum = strings.Split(value, "|")
		}
	case "default":
		d.deflt = value
	case "example":
		d.example = value
	case "alias":
		d.aliases = strings.Split(value, "|")
	case "hidden":
		d.hidden = true
	case "ignored":
		d.ignored = true
	case "path":
		d.path = true
	case "clamp":
		d.clamp = true
	case "means":
		d.means = make(map[string]string)
		for pair := range strings.SplitSeq(value, "|") {
			word, meant, ok := strings.Cut(pair, ":")
			if !ok {
				return fmt.Errorf("means: %q is not word:value", pair)
			}
			d.means[word] = meant
		}
	case "when":
		d.when = value
	default:
		err = fmt.Errorf("unknown directive %q", word)
	}
	return err
}

// aliasNames works on the nil that a broken tag leaves.
func (d *directives) aliasNames() []string {
	if d == nil {
		return nil
	}
	return d.aliases
}

func number(s string) (*float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = fmt.Errorf("%s is not a valid bound", s)
	}
	return &f, err
}

// apply writes the directives that JSON Schema has keywords for into s.
func (d *directives) apply(s *jsonschema.Schema) error {
	if d.enum != nil {
		target := s
		if s.Type == "array" {
			target = s.Items
		}
		for _, text := range d.enum {
			v, err := literal(target, text)
			if err != nil {
				return fmt.Errorf("enum: %w", err)
			}
			target.Enum = append(target.Enum, v)
		}
	}
	if d.deflt != "" {
		v, err := literal(s, d.deflt)
		if err != nil {
			return fmt.Errorf("default: %w", err)
		}
		if s.Default, err = json.Marshal(v); err != nil {
			return fmt.Errorf("default: %w", err)
		}
	}
	if d.pattern != "" {
		if s.Type != "string" {
			return fmt.Errorf("pattern on a field of type %s", s.Type)
		}
		s.Pattern = d.pattern
	}
	if err := d.bound(s); err != nil {
		return err
	}
	return fits(s, "default", s.Default)
}

// fits reports whether a value in a tag is one that the field accepts.
func fits(s *jsonschema.Schema, what string, raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	v, err := decode(raw)
	if err == nil && !(&checker{strict: true}).accepts(newNode(s), v, "") {
		err = fmt.Errorf("%s is not a value that the field accepts", raw)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// bound writes min and max as the keyword that fits the type.
func (d *directives) bound(s *jsonschema.Schema) error {
	if d.min == nil && d.max == nil {
		return nil
	}
	if d.min != nil && d.max != nil && *d.min > *d.max {
		return fmt.Errorf("min=%g is more than max=%g", *d.min, *d.max)
	}
	kind := s.Type
	if len(s.Types) == 2 && s.Types[0] == "null" {
		kind = s.Types[1] // an output, in which a slice may be null
	}
	for _, n := range []*float64{d.min, d.max} {
		if n != nil && kind != "integer" && kind != "number" && (*n < 0 || *n != math.Trunc(*n)) {
			return fmt.Errorf("%g is not a valid length", *n)
		}
	}
	switch kind {
	case "integer", "number":
		if d.min != nil {
			s.Minimum = d.min
		}
		if d.max != nil {
			s.Maximum = d.max
		}
	case "string":
		s.MinLength, s.MaxLength = whole(d.min), whole(d.max)
	case "array":
		s.MinItems, s.MaxItems = whole(d.min), whole(d.max)
	default:
		return fmt.Errorf("min or max on a field of type %s", kind)
	}
	return nil
}

func whole(f *float64) *int {
	if f == nil {
		return nil
	}
	n := int(*f)
	return &n
}

// literal reads a value written in a tag: bare text for a string, JSON otherwise.
func literal(s *jsonschema.Schema, text string) (any, error) {
	if s.Type == "string" {
		return text, nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("%q is not JSON for type %s", text, s.Type)
	}
	return v, nil
}
