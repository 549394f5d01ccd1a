package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Union is a type whose JSON takes one of several forms. Variants returns a
// zero value of each form's Go type; the type itself decodes them in its
// UnmarshalJSON.
type Union interface {
	Variants() []any
}

// derive describes the struct type t.
func derive(t reflect.Type) (*source, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is a %s, but a tool's input must be a struct", t, t.Kind())
	}
	if err := mirrors(t, make(map[reflect.Type]bool)); err != nil {
		return nil, err
	}
	root, err := generate(t)
	if err != nil {
		return nil, err
	}
	src := &source{root: root, meta: make(map[*jsonschema.Schema]*directives)}
	if err := src.decorate(t, root); err != nil {
		return nil, err
	}
	return src, nil
}

// deriveOutput describes what encoding/json writes of t.
func deriveOutput(t reflect.Type) (*source, error) {
	root, err := generate(t)
	if err != nil {
		return nil, err
	}
	src := &source{root: root, meta: make(map[*jsonschema.Schema]*directives), output: true}
	return src, src.decorate(t, root)
}

// mirrors reports where the JSON that t decodes is not what a schema made from
// its fields would say.
func mirrors(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if t == reflect.TypeFor[json.RawMessage]() || reflect.PointerTo(t).Implements(reflect.TypeFor[Union]()) {
		return nil
	}
	for _, own := range []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()} {
		if reflect.PointerTo(t).Implements(own) {
			return fmt.Errorf("%s decodes itself: use a plain type, or implement Union", t)
		}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return mirrors(t.Elem(), seen)
	case reflect.Float32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		return fmt.Errorf("%s cannot represent every JSON number exactly: use float64 or int64", t)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if err := mirrorsField(t, f, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func mirrorsField(t reflect.Type, f reflect.StructField, seen map[reflect.Type]bool) error {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported() || f.Tag.Get("json") == "-":
		return nil
	case name == "-":
		return fmt.Errorf("field %s.%s: the name - is not usable", t, f.Name)
	case f.Anonymous && name != "":
		return fmt.Errorf("field %s.%s: an embedded struct with its own name is not supported; name the field", t, f.Name)
	case strings.Contains(options, "string"):
		return fmt.Errorf("field %s.%s: the json option string is not supported", t, f.Name)
	}
	return mirrors(f.Type, seen)
}

// generate lets the library describe t, with unions and raw JSON described here.
func generate(t reflect.Type) (*jsonschema.Schema, error) {
	special := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}
	if err := collectUnions(t, special, make(map[reflect.Type]bool)); err != nil {
		return nil, err
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: special})
}

func collectUnions(t reflect.Type, into map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) error {
	if seen[t] || into[t] != nil {
		return nil
	}
	seen[t] = true
	if u, ok := reflect.Zero(t).Interface().(Union); ok && t.Kind() != reflect.Pointer {
		return describeUnion(t, u, into)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return collectUnions(t.Elem(), into, seen)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if err := collectUnions(f.Type, into, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func describeUnion(t reflect.Type, u Union, into map[reflect.Type]*jsonschema.Schema) error {
	union := new(jsonschema.Schema)
	for _, v := range u.Variants() {
		vt := reflect.TypeOf(v)
		if vt == nil {
			return fmt.Errorf("union %s: a variant is nil", t)
		}
		form, err := generate(vt)
		if err != nil {
			return fmt.Errorf("union %s: %w", t, err)
		}
		variant := &source{meta: make(map[*jsonschema.Schema]*directives)}
		if err := variant.decorate(vt, form); err != nil {
			return fmt.Errorf("union %s: %w", t, err)
		}
		// The library copies the union to where it is used; what a copy loses
		// must not be silently ineffective.
		for _, d := range variant.meta {
			if d.hidden || d.when != "" || d.list != "" || d.aliases != nil {
				return fmt.Errorf("union %s: hidden, when, alias and enum=@list do not work inside a union", t)
			}
		}
		union.AnyOf = append(union.AnyOf, form)
	}
	if len(union.AnyOf) == 0 {
		return fmt.Errorf("union %s has no variants", t)
	}
	into[t] = union
	return nil
}
