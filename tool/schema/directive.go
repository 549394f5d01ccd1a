package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
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
	when     string
	pattern  string
}

func parseDirectives(tag string) (*directives, error) {
	d := new(directives)
	for tag != "" {
		var word string
		if rest, ok := strings.CutPrefix(tag, "pattern="); ok {
			d.pattern, tag = rest, ""
			if _, err := regexp.Compile(d.pattern); err != nil {
				return nil, fmt.Errorf("pattern: %w", err)
			}
			continue
		}
		word, tag, _ = strings.Cut(tag, ";")
		if err := d.set(word); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *directives) set(word string) (err error) {
	name, value, hasValue := strings.Cut(word, "=")
	if hasValue == (name == "hidden") || hasValue && value == "" {
		return fmt.Errorf("directive %q: a value is expected after all but hidden", word)
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
	case "when":
		d.when = value
	default:
		err = fmt.Errorf("unknown directive %q", word)
	}
	return err
}

func number(s string) (*float64, error) {
	f, err := strconv.ParseFloat(s, 64)
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
	return d.bound(s)
}

// bound writes min and max as the keyword that fits the type.
func (d *directives) bound(s *jsonschema.Schema) error {
	if d.min == nil && d.max == nil {
		return nil
	}
	switch s.Type {
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
		return fmt.Errorf("min or max on a field of type %s", s.Type)
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
