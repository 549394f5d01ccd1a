package wiretest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/haftdev/haft/wire"
)

// object is a JSON object; encoding/json writes its keys sorted.
type object = map[string]any

// Schema returns the JSON Schema of every line. Descriptions are looked up in
// docs by "Type" and "Type.Field"; nil means none.
func Schema(docs map[string]string) object {
	g := &generator{docs: docs, defs: object{}}
	var all, requests []any
	for _, k := range wire.Kinds() {
		name := g.message(k)
		all = append(all, ref(name))
	}
	for _, k := range wire.Requests() {
		requests = append(requests, ref(g.request(k)))
	}
	g.defs["Request"] = object{"description": "What a control request asks for.", "anyOf": requests}
	return object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "stream-json",
		"description": "One line of the protocol between an agent's CLI and its host. Readers must ignore unknown fields and types.",
		"anyOf":       all,
		"$defs":       g.defs,
	}
}

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

// A generator turns Go types into definitions.
type generator struct {
	docs map[string]string
	defs object
}

// message defines a message and returns its name.
func (g *generator) message(k wire.Kind) string {
	name := g.define(reflect.TypeOf(k.New()).Elem())
	def := g.defs[name].(object)
	tag(def, "type", k.Tag.Type)
	if k.Tag.Subtype != "" {
		tag(def, "subtype", k.Tag.Subtype)
	}
	if k.Tag.Type == "result" {
		def["if"] = object{"properties": object{"subtype": object{"const": wire.ResultSuccess}}}
		def["then"] = object{"required": []string{"result"}}
		def["else"] = object{"required": []string{"errors"}, "properties": object{"is_error": object{"const": true}, "result": false}}
	}
	return name
}

// request defines a request and its answer, and returns its name.
func (g *generator) request(k wire.RequestKind) string {
	name := g.define(reflect.TypeOf(k.New()).Elem())
	def := g.defs[name].(object)
	tag(def, "subtype", k.Subtype)
	if k.Reply != nil {
		reply := g.define(reflect.TypeOf(k.Reply))
		def["$comment"] = "The answer is a " + reply + "."
	}
	return name
}

// tag adds a property with one possible value to a definition.
func tag(def object, property, value string) {
	def["properties"].(object)[property] = object{"const": value}
	def["required"] = append([]string{property}, def["required"].([]string)...)
}

// define adds a definition for a struct type, if there is none, and returns its
// name.
func (g *generator) define(t reflect.Type) string {
	name := t.Name()
	if _, done := g.defs[name]; done {
		return name
	}
	def := object{"type": "object"}
	g.defs[name] = def // before the fields, which may refer to it
	g.describe(def, name)
	properties, required := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || field == "" || field == "-" {
			continue
		}
		optional := strings.Contains(options, "omit")
		p := g.value(f.Type)
		limit(p, f.Tag.Get("wire"), f.Type == reflect.TypeFor[wire.NullString]())
		g.describe(p, owner(t, f)+"."+f.Name)
		properties[field] = p
		if !optional {
			required = append(required, field)
		}
	}
	def["properties"], def["required"] = properties, required
	return name
}

// owner is the name of the struct that declares a field.
func owner(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t.Name()
}

func (g *generator) describe(def object, name string) {
	if doc := g.docs[name]; doc != "" {
		def["description"] = doc
	}
}

// limit applies a wire tag to a property.
func limit(p object, tag string, null bool) {
	for directive := range strings.SplitSeq(tag, ";") {
		name, value, _ := strings.Cut(directive, "=")
		switch name {
		case "nonempty":
			p["minLength"] = 1
		case "enum":
			var values []any
			for v := range strings.SplitSeq(value, "|") {
				values = append(values, v)
			}
			if null {
				values = append(values, nil)
			}
			p["enum"] = values
		}
	}
}

// value returns the schema of a field's type.
func (g *generator) value(t reflect.Type) object {
	if s := g.special(t); s != nil {
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []any{g.value(t.Elem()), object{"type": "null"}}}
	case reflect.Slice:
		return object{"type": "array", "items": g.value(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.value(t.Elem())}
	case reflect.Struct:
		return ref(g.define(t))
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	panic("wiretest: no schema for " + t.String())
}

// special returns the schema of types that write their own JSON.
func (g *generator) special(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return object{}
	case reflect.TypeFor[wire.NullString]():
		return object{"type": []string{"string", "null"}}
	case reflect.TypeFor[wire.Request]():
		return ref("Request")
	case reflect.TypeFor[wire.Content]():
		return object{"anyOf": []any{object{"type": "string"}, object{"type": "array", "items": g.value(reflect.TypeFor[wire.Block]())}}}
	case reflect.TypeFor[wire.Block]():
		g.block()
		return ref("Block")
	}
	return nil
}

// block defines content blocks, which may be of any type; the fields of the
// common ones are checked.
func (g *generator) block() {
	if _, done := g.defs["Block"]; done {
		return
	}
	def := object{"type": "object", "required": []string{"type"}, "properties": object{"type": object{"type": "string", "minLength": 1}}}
	g.defs["Block"] = def
	g.describe(def, "Block")
	text := object{"type": "string"}
	kinds := map[string]object{
		"text":        {"text": text},
		"thinking":    {"thinking": text},
		"tool_use":    {"id": text, "name": text, "input": object{}},
		"tool_result": {"tool_use_id": text},
	}
	var rules []any
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		rules = append(rules, object{
			"if":   object{"properties": object{"type": object{"const": kind}}},
			"then": object{"required": slices.Sorted(maps.Keys(kinds[kind])), "properties": kinds[kind]},
		})
	}
	def["allOf"] = rules
}
