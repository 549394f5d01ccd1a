package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Schema is the full shape of an input, from which each session sees a [View].
// The zero value is not usable; see [Of] and [Parse].
type Schema struct {
	source   func() (*source, error) // derives on first use
	of       reflect.Type            // of an input's schema; nil for others
	prepared *Prepared               // what was derived before; nil means nothing

	mu    sync.Mutex
	views map[string]*View // by [source.key]
}

// A source is a derived schema and what the library's type cannot hold about it.
type source struct {
	root *jsonschema.Schema
	raw  json.RawMessage // of a foreign schema, which is passed on as it came
	meta map[*jsonschema.Schema]*directives
	// flags and lists are the session facts that the shape depends on, sorted.
	flags, lists []string
	hides        bool
	output       bool // describes what is written, not what is read
}

// Of returns the schema of an input of type T, which must be a struct. Nothing is
// derived until the schema is first used. A T that cannot be described (see
// [Schema.Err]) is a mistake of the program, not of its input: what validates
// must decode, so types and tags whose JSON the schema would not describe are
// refused.
func Of[T any]() *Schema {
	t := reflect.TypeFor[T]()
	return &Schema{source: func() (*source, error) { return inputs(t) }, of: t}
}

// OfOutput returns the schema of an output of type T. It describes what
// encoding/json writes, which for a nil slice or pointer is null.
func OfOutput[T any]() *Schema {
	t := reflect.TypeFor[T]()
	return &Schema{source: func() (*source, error) { return outputs(t) }}
}

// inputs and outputs derive each type once, however many sessions have tools of
// it: a derived schema is larger than all that a session sees of it.
var (
	inputs  = perType(derive)
	outputs = perType(deriveOutput)
)

func perType(derive func(reflect.Type) (*source, error)) func(reflect.Type) (*source, error) {
	var types sync.Map // of reflect.Type to func() (*source, error)
	return func(t reflect.Type) (*source, error) {
		once, ok := types.Load(t)
		if !ok {
			once, _ = types.LoadOrStore(t, sync.OnceValues(func() (*source, error) { return derive(t) }))
		}
		return once.(func() (*source, error))()
	}
}

// Parse returns a schema that a foreign program sent, such as an MCP server. Keywords that
// this package does not check itself are left to a general validator. If that validator cannot
// resolve the schema, only the keywords known here are checked, since the schema's owner
// checks the input anyway.
func Parse(raw json.RawMessage) (s *Schema, err error) {
	// What a stranger sent may be a schema of nulls, which the library and the
	// projection stumble over: better here than in the middle of a session.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("parse input schema: it is malformed: %v", p)
		}
	}()
	src, err := parse(raw)
	if err != nil {
		return nil, err
	}
	s = &Schema{source: func() (*source, error) { return src, nil }}
	s.View(nil)
	return s, nil
}

func parse(raw json.RawMessage) (*source, error) {
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, root); err != nil {
		return nil, fmt.Errorf("parse input schema: %w", err)
	}
	switch {
	case root.Type == "" && len(root.Types) == 0:
		root.Type = "object"
	case root.Type != "object":
		return nil, fmt.Errorf("parse input schema: the type is %q, but a tool's input must be an object", root.Type)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, fmt.Errorf("parse input schema: %w", err)
	}
	return &source{root: root, raw: compact.Bytes()}, nil
}

// Err derives the schema and says what is wrong with the type it comes from. Nothing is wrong with one that was derived
// before; see [Schema.Prepare].
func (s *Schema) Err() error {
	if s.prepared != nil {
		return nil
	}
	_, err := s.source()
	return err
}

// ViewOptions are the facts of a session that a schema may depend on.
type ViewOptions struct {
	// Flags that are on. A field marked when=FLAG is absent without its flag.
	Flags map[string]bool
	// Lists supply the values of enum=@name. A list that is missing or empty
	// leaves the field unrestricted.
	Lists map[string][]string
	// Internal includes the hidden fields. It is for input that the harness
	// itself has completed, never for input as it came from a model.
	Internal bool
}

// View returns the schema as one session sees it. Nil options mean no flags, no
// lists, not internal. Equal options give the same view. View panics if the
// schema is wrong; see [Schema.Err].
func (s *Schema) View(opts *ViewOptions) *View {
	if opts == nil {
		opts = new(ViewOptions)
	}
	if s.prepared != nil && !opts.Internal {
		return s.preparedView(opts)
	}
	return s.derivedView(opts)
}

func (s *Schema) derivedView(opts *ViewOptions) *View {
	src, err := s.source()
	if err != nil {
		panic("schema: " + err.Error())
	}
	return s.kept(src.key(opts), func() *View { return newView(src, opts) })
}

// kept returns the view of a key, which is made once.
func (s *Schema) kept(key string, make func() *View) *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[key]
	if v == nil {
		v = make()
		if s.views == nil {
			s.views = map[string]*View{}
		}
		s.views[key] = v
	}
	return v
}

// Prepare returns s, or if one of the list is for its type a schema that is derived when an
// input is checked and not before. A test should check that the list is as [Schema.Derive]
// would make it.
func (s *Schema) Prepare(list []Prepared) *Schema {
	if s.of == nil {
		return s
	}
	name, pkg := s.of.String(), s.of.PkgPath()
	for i := range list {
		if p := &list[i]; p.Type == name && p.Package == pkg {
			return &Schema{source: s.source, of: s.of, prepared: p}
		}
	}
	return s
}

// Derive returns what [Schema.Prepare] takes. It is an error if the schema is not of a type, or depends on more than
// flags.
func (s *Schema) Derive() (Prepared, error) {
	src, err := s.source()
	if err != nil {
		return Prepared{}, err
	}
	if s.of == nil || src.lists != nil {
		return Prepared{}, errors.New("the schema is not of a type, or depends on lists of a session")
	}
	p := Prepared{Package: s.of.PkgPath(), Type: s.of.String(), Flags: src.flags}
	for set := range 1 << len(src.flags) {
		on := map[string]bool{}
		for i, flag := range src.flags {
			on[flag] = set&(1<<i) != 0
		}
		p.JSON = append(p.JSON, string(s.derivedView(&ViewOptions{Flags: on}).JSON()))
	}
	return p, nil
}

func (s *Schema) preparedView(opts *ViewOptions) *View {
	set, key := 0, ""
	for i, flag := range s.prepared.Flags {
		if opts.Flags[flag] {
			set |= 1 << i
			key += "\x00+" + flag
		}
	}
	return s.kept("prepared"+key, func() *View {
		own := ViewOptions{Flags: maps.Clone(opts.Flags)} // a caller may change its options
		return &View{json: json.RawMessage(s.prepared.JSON[set]), later: func() *View { return s.derivedView(&own) }}
	})
}

// key names the view that opts select, by nothing but what the shape depends on.
func (src *source) key(opts *ViewOptions) string {
	if !src.hides && src.flags == nil && src.lists == nil {
		return ""
	}
	var b strings.Builder
	if src.hides && opts.Internal {
		b.WriteString("internal")
	}
	for _, f := range src.flags {
		if opts.Flags[f] {
			b.WriteString("\x00+" + f)
		}
	}
	for _, l := range src.lists {
		b.WriteString("\x00@" + strings.Join(opts.Lists[l], "\x01"))
	}
	return b.String()
}

// decorate walks t and its generated schema together, applies the haft tags, and
// removes "null" from inputs, which the library adds for slices and pointers: a
// model that may send null for absence will, and absence is what optional means.
func (src *source) decorate(t reflect.Type, s *jsonschema.Schema) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(s.Types) == 2 && s.Types[0] == "null" && !src.output {
		s.Type, s.Types = s.Types[1], nil
	}
	switch {
	case s.AnyOf != nil:
		return nil // a union: decorated when it was described
	case t.Kind() == reflect.Struct && s.Properties != nil:
		return src.decorateFields(t, s)
	case s.Items != nil:
		return src.decorate(t.Elem(), s.Items)
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil:
		return src.decorate(t.Elem(), s.AdditionalProperties)
	}
	return nil
}

func (src *source) decorateFields(t reflect.Type, s *jsonschema.Schema) error {
	aliases := make(map[string]bool)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		prop := s.Properties[name]
		if prop == nil {
			continue
		}
		if err := src.decorate(f.Type, prop); err != nil {
			return err
		}
		d, err := parseDirectives(f.Tag.Get("haft"))
		if err == nil {
			err = d.apply(prop)
		}
		for _, alias := range d.aliasNames() {
			if aliases[alias] || s.Properties[alias] != nil {
				err = errors.Join(err, fmt.Errorf("the alias %s is taken", alias))
			}
			aliases[alias] = true
		}
		if err != nil {
			return fmt.Errorf("field %s.%s: %w", t, f.Name, err)
		}
		src.meta[prop] = d
		src.note(d)
	}
	return nil
}

// note records that the shape depends on a directive's flag, list or hiding.
func (src *source) note(d *directives) {
	if d.when != "" && !slices.Contains(src.flags, d.when) {
		src.flags = append(src.flags, d.when)
		slices.Sort(src.flags)
	}
	if d.list != "" && !slices.Contains(src.lists, d.list) {
		src.lists = append(src.lists, d.list)
		slices.Sort(src.lists)
	}
	src.hides = src.hides || d.hidden
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
