package serve

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/wire"
)

// object is a JSON object; encoding/json writes its keys sorted.
type object = map[string]any

// describe makes the OpenAPI document from the table of operations and the Go types that
// they read and write.
func describe(routes []route) object {
	g := &schemas{object{}}
	refused := g.of(reflect.TypeFor[Problem]())
	paths := object{}
	for _, r := range routes {
		path, _ := paths["/v1"+r.path].(object)
		if path == nil {
			path = object{}
			paths["/v1"+r.path] = path
		}
		path[strings.ToLower(r.method)] = g.operation(&r, refused)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "haft serve", "version": "1",
			"description": "Watch and steer sessions. Messages of event streams are those of docs/wire.schema.json. Readers ignore fields and events that they do not know.",
		},
		"paths": paths,
		"components": object{"schemas": g.all, "securitySchemes": object{
			"token": object{"type": "http", "scheme": "bearer"},
		}},
		"security": []any{object{"token": []string{}}},
	}
}

// operation describes a route.
func (g *schemas) operation(r *route, refused object) object {
	done := object{"description": "Done"}
	if r.reply != nil && r.status != http.StatusNoContent {
		done["content"] = object{"application/json": object{"schema": g.of(r.reply)}}
	}
	if r.path == "/events" || strings.HasSuffix(r.path, "/events") {
		done["content"] = object{"text/event-stream": object{"schema": object{"type": "string"}}}
	}
	op := object{
		"summary": r.summary,
		"responses": object{
			strconv.Itoa(r.status): done,
			"default":              object{"description": "Refused", "content": object{"application/problem+json": object{"schema": refused}}},
		},
	}
	var parameters []any
	for part := range strings.SplitSeq(r.path, "/") {
		if name := strings.Trim(part, "{}"); name != part {
			parameters = append(parameters, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, p := range r.query {
		parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.about, "schema": object{"type": "string"}})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if r.body != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": g.of(r.body)}}}
	}
	if slices.Contains(open, "/v1"+r.path) {
		op["security"] = []any{}
	}
	return op
}

// schemas are the definitions of types, by name.
type schemas struct{ all object }

// of is the schema of a type; structs are defined once.
func (g *schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[wire.NullString]():
		return object{"type": []string{"string", "null"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": g.of(t.Elem())}
	case reflect.Struct:
		return g.define(t)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "string"}
}

// define defines a struct type, and returns a reference to it.
func (g *schemas) define(t reflect.Type) object {
	ref := object{"$ref": "#/components/schemas/" + t.Name()}
	if _, done := g.all[t.Name()]; done {
		return ref
	}
	def := object{"type": "object"}
	g.all[t.Name()] = def // before the fields, which may refer to it
	properties, required := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		properties[name] = g.of(f.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	def["properties"] = properties
	if len(required) > 0 {
		def["required"] = required
	}
	return ref
}

// Describe is the OpenAPI document of a server.
func Describe(s *Server) any { return describe(s.routes) }
