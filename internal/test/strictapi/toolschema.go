package strictapi

import (
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var jsonTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// The keywords of JSON Schema, draft 2020-12, by what their values must be.
var (
	schemaKeywords = []string{"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	listKeywords   = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	mapKeywords    = []string{"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
	countKeywords  = []string{"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties", "maxContains", "minContains"}
	numberKeywords = []string{"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}
	stringKeywords = []string{"$anchor", "$comment", "$id", "$ref", "$schema", "contentEncoding", "contentMediaType", "description", "format", "pattern", "title", "$dynamicRef"}
	flagKeywords   = []string{"deprecated", "readOnly", "uniqueItems", "writeOnly"}
)

func schemaFaultAt(at string, schema any) string {
	if _, ok := schema.(bool); ok {
		return ""
	}
	m, ok := schema.(map[string]any)
	if !ok {
		return at + " is not a schema"
	}
	for _, key := range sortedKeys(m) {
		if fault := keywordFault(at+"/"+key, key, m[key]); fault != "" {
			return fault
		}
	}
	return ""
}

func keywordFault(at, key string, value any) string {
	switch {
	case key == "type":
		return typeFault(at, value)
	case key == "enum" || key == "examples":
		if _, ok := value.([]any); !ok {
			return at + " is not a list"
		}
	case key == "required":
		return namesFault(at, value)
	case key == "dependentRequired":
		m, ok := value.(map[string]any)
		if !ok {
			return at + " is not an object"
		}
		for _, k := range sortedKeys(m) {
			if fault := namesFault(at+"/"+k, m[k]); fault != "" {
				return fault
			}
		}
	case slices.Contains(schemaKeywords, key):
		return schemaFaultAt(at, value)
	case slices.Contains(listKeywords, key):
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			return at + " is not a list with schemas"
		}
		for i, s := range list {
			if fault := schemaFaultAt(fmt.Sprintf("%s/%d", at, i), s); fault != "" {
				return fault
			}
		}
	case slices.Contains(mapKeywords, key):
		m, ok := value.(map[string]any)
		if !ok {
			return at + " is not an object"
		}
		for _, k := range sortedKeys(m) {
			if fault := schemaFaultAt(at+"/"+k, m[k]); fault != "" {
				return fault
			}
		}
	case slices.Contains(countKeywords, key):
		if n, ok := value.(float64); !ok || n < 0 || n != float64(int64(n)) {
			return at + " is not a count"
		}
	case slices.Contains(numberKeywords, key):
		if n, ok := value.(float64); !ok || key == "multipleOf" && n <= 0 {
			return at + " is not a number"
		}
	case slices.Contains(stringKeywords, key):
		if _, ok := value.(string); !ok {
			return at + " is not a string"
		}
	case slices.Contains(flagKeywords, key):
		if _, ok := value.(bool); !ok {
			return at + " is not a boolean"
		}
	}
	return ""
}

func typeFault(at string, value any) string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	} else if len(list) == 0 {
		return at + " is empty"
	}
	for i, v := range list {
		name, ok := v.(string)
		if !ok || !slices.Contains(jsonTypes, name) {
			return fmt.Sprintf("%s: %v is no type", at, v)
		}
		if slices.Contains(list[:i], v) {
			return at + " names a type twice"
		}
	}
	return ""
}

func namesFault(at string, value any) string {
	list, ok := value.([]any)
	if !ok {
		return at + " is not a list"
	}
	for i, v := range list {
		if _, ok := v.(string); !ok || slices.Contains(list[:i], v) {
			return at + " is not a list of different names"
		}
	}
	return ""
}

// outputFault returns what of a schema structured outputs and strict tools do not
// take, "" if they take it.
func outputFault(schema map[string]any) string {
	return outputFaultAt("", schema, schema, nil)
}

var (
	outputFormats  = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
	outputRefused  = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties", "patternProperties", "propertyNames", "oneOf", "not", "if", "then", "else", "contains"}
	outputPatterns = lazyregexp.New(`\\[1-9]|\(\?[=!<]|\\[bB]`)
)

func outputFaultAt(at string, schema any, root map[string]any, open []string) string {
	m, ok := schema.(map[string]any)
	if !ok {
		return ""
	}
	if ref, ok := m["$ref"].(string); ok {
		if len(ref) == 0 || ref[0] != '#' {
			return fmt.Sprintf("%s: external $ref '%s' is not supported", at, ref)
		}
		if slices.Contains(open, ref) {
			return fmt.Sprintf("%s: recursive schemas are not supported ('%s')", at, ref)
		}
		if target := lookUp(root, ref); target != nil {
			return outputFaultAt(at, target, root, append(open[:len(open):len(open)], ref))
		}
	}
	if isObjectSchema(m) {
		if extra, ok := m["additionalProperties"].(bool); !ok || extra {
			return at + ": For 'object' type, 'additionalProperties' must be explicitly set to false"
		}
	}
	for _, key := range sortedKeys(m) {
		if slices.Contains(outputRefused, key) {
			return fmt.Sprintf("%s: For '%v' type, property '%s' is not supported", at, m["type"], key)
		}
	}
	if n, ok := m["minItems"].(float64); ok && n > 1 {
		return at + ": For 'array' type, 'minItems' values other than 0 or 1 are not supported"
	}
	if f, ok := m["format"].(string); ok && !slices.Contains(outputFormats, f) {
		return fmt.Sprintf("%s: format '%s' is not supported", at, f)
	}
	if p, ok := m["pattern"].(string); ok && outputPatterns.MatchString(p) {
		return fmt.Sprintf("%s: pattern '%s' is not supported", at, p)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if fault := outputFaultAt(at+"/"+key, m[key], root, open); fault != "" {
			return fault
		}
	}
	for _, key := range []string{"anyOf", "allOf"} {
		list, _ := m[key].([]any)
		for i, s := range list {
			if fault := outputFaultAt(fmt.Sprintf("%s/%s/%d", at, key, i), s, root, open); fault != "" {
				return fault
			}
		}
	}
	properties, _ := m["properties"].(map[string]any)
	for _, k := range sortedKeys(properties) {
		if fault := outputFaultAt(at+"/properties/"+k, properties[k], root, open); fault != "" {
			return fault
		}
	}
	return ""
}

func isObjectSchema(m map[string]any) bool {
	if list, ok := m["type"].([]any); ok {
		return slices.Contains(list, any("object"))
	}
	return m["type"] == "object"
}

func lookUp(root map[string]any, ref string) any {
	for _, key := range []string{"$defs", "definitions"} {
		prefix := "#/" + key + "/"
		if len(ref) > len(prefix) && ref[:len(prefix)] == prefix {
			if defs, ok := root[key].(map[string]any); ok {
				return defs[ref[len(prefix):]]
			}
		}
	}
	return nil
}
