package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// schema repairs the keywords of a schema and of those in it: what older drafts and
// careless writers mean is put as draft 2020-12 wants it, and what means nothing is left
// out.
func (r *repairer) schema(m map[string]any) {
	r.olderDrafts(m)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch value := m[key]; keywordOf(key) {
		case takesType:
			r.types(m, value)
		case takesNames:
			r.names(m, key, value)
		case takesValues:
			if _, ok := value.([]any); !ok {
				r.drop(m, key)
			}
		case takesSchema:
			r.sub(m, key, value)
		case takesList:
			r.list(m, key, value)
		case takesMap:
			r.table(m, key, value)
		case takesCount:
			if n, ok := value.(json.Number); !ok || strings.ContainsAny(n.String(), ".-eE") {
				r.drop(m, key)
			}
		case takesNumber:
			if n, ok := value.(json.Number); !ok || key == "multipleOf" && strings.HasPrefix(n.String(), "-") || key == "multipleOf" && n == "0" {
				r.drop(m, key)
			}
		case takesText:
			if _, ok := value.(string); !ok {
				r.drop(m, key)
			}
		case takesFlag:
			if _, ok := value.(bool); !ok {
				r.drop(m, key)
			}
		}
	}
}

// olderDrafts puts keywords of drafts 4 to 7 as the newest one has them.
func (r *repairer) olderDrafts(m map[string]any) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if flag, ok := m[exclusive].(bool); ok {
			r.drop(m, exclusive)
			if limit, ok := m[bound]; ok && flag {
				r.set(m, exclusive, limit)
				r.drop(m, bound)
			}
		}
	}
	if tuple, ok := m["items"].([]any); ok {
		r.drop(m, "items")
		if len(tuple) > 0 {
			r.set(m, "prefixItems", tuple)
		}
		if rest, ok := m["additionalItems"]; ok {
			r.set(m, "items", rest)
		}
		r.drop(m, "additionalItems")
	}
}

func (r *repairer) types(m map[string]any, value any) {
	if name, ok := value.(string); ok {
		switch known := synonym(name); known {
		case "":
			r.drop(m, "type")
		case name:
		default:
			r.set(m, "type", known)
		}
		return
	}
	var names []any
	for _, name := range listed(value) {
		if known := synonym(name); known == "" {
			names = nil // one of them is anything
			break
		} else if !slices.Contains(names, any(known)) {
			names = append(names, known)
		}
	}
	list, ok := value.([]any)
	switch {
	case len(names) == 0:
		r.drop(m, "type")
	case !ok || !slices.Equal(list, names):
		r.set(m, "type", names)
	}
}

// synonym is the name of a type in JSON Schema; "" of one that is none, or is any.
func synonym(name string) string {
	switch strings.ToLower(name) {
	case "array", "list", "tuple":
		return "array"
	case "boolean", "bool":
		return "boolean"
	case "integer", "int", "long":
		return "integer"
	case "null", "none":
		return "null"
	case "number", "float", "double", "decimal":
		return "number"
	case "object", "dict", "map":
		return "object"
	case "string", "str", "text":
		return "string"
	}
	return ""
}

func (r *repairer) names(m map[string]any, key string, value any) {
	list, ok := value.([]any)
	names := listed(value)
	slices.Sort(names)
	if unique := slices.Compact(names); !ok || len(unique) < len(list) {
		r.drop(m, key)
		if len(unique) > 0 {
			r.set(m, key, unique)
		}
	}
}

func (r *repairer) sub(m map[string]any, key string, value any) {
	switch value := value.(type) {
	case map[string]any:
		r.schema(value)
	case bool:
	default:
		r.drop(m, key)
	}
}

func (r *repairer) list(m map[string]any, key string, value any) {
	all, _ := value.([]any)
	good := slices.DeleteFunc(slices.Clone(all), func(e any) bool {
		sub, ok := e.(map[string]any)
		if ok {
			r.schema(sub)
		}
		_, flag := e.(bool)
		return !ok && !flag
	})
	switch {
	case len(good) == 0:
		r.drop(m, key)
	case len(good) < len(all):
		r.set(m, key, good)
	}
}

func (r *repairer) table(m map[string]any, key string, value any) {
	table, ok := value.(map[string]any)
	if !ok {
		r.drop(m, key)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		switch sub := table[name].(type) {
		case map[string]any:
			r.schema(sub)
		case bool:
		default:
			r.set(table, name, map[string]any{})
		}
	}
}

// A keywordKind is what the value of a keyword must be.
type keywordKind int

const (
	takesOther keywordKind = iota
	takesType
	takesNames
	takesValues
	takesSchema
	takesList
	takesMap
	takesCount
	takesNumber
	takesText
	takesFlag
)

func keywordOf(key string) keywordKind {
	switch key {
	case "type":
		return takesType
	case "required":
		return takesNames
	case "enum", "examples":
		return takesValues
	case "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties":
		return takesSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return takesList
	case "$defs", "definitions", "dependentSchemas", "patternProperties", "properties":
		return takesMap
	case "maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties", "maxContains", "minContains":
		return takesCount
	case "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf":
		return takesNumber
	case "$anchor", "$comment", "$id", "$ref", "$schema", "contentEncoding", "contentMediaType", "description", "format", "pattern", "title", "$dynamicRef":
		return takesText
	case "deprecated", "readOnly", "uniqueItems", "writeOnly":
		return takesFlag
	}
	return takesOther
}
