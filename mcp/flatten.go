package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flatten makes an input schema one that providers take: an object whose root
// has properties and no alternatives. What the alternatives had becomes
// optional; the server still checks.
func flatten(raw json.RawMessage) (json.RawMessage, error) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	if ref := foreignRef(raw); ref != "" {
		return nil, fmt.Errorf("inputSchema refers to %s, which is not part of it", ref)
	}
	var kind string
	if t, ok := root["type"]; ok && (json.Unmarshal(t, &kind) != nil || kind != "object") {
		return nil, fmt.Errorf("inputSchema has the type %s, a tool's input is an object", t)
	}
	forms := slices.Concat(schemas(root["anyOf"]), schemas(root["oneOf"]))
	all := schemas(root["allOf"])
	if len(forms) == 0 && len(all) == 0 {
		if root["properties"] != nil || root["type"] != nil {
			return raw, nil
		}
	}
	properties := fields(root["properties"])
	required := texts(root["required"])
	for _, form := range slices.Concat(all, forms) {
		for name, property := range fields(form["properties"]) {
			if _, there := properties[name]; !there {
				properties[name] = property
			}
		}
	}
	for _, form := range all {
		required = append(required, texts(form["required"])...)
	}
	required = append(required, common(forms)...)
	slices.Sort(required)
	delete(root, "anyOf")
	delete(root, "oneOf")
	delete(root, "allOf")
	if len(forms)+len(all) > 0 {
		delete(root, "additionalProperties") // it was about the root's own
		delete(root, "unevaluatedProperties")
	}
	return rebuild(root, properties, slices.Compact(required))
}

func rebuild(root, properties map[string]json.RawMessage, required []string) (json.RawMessage, error) {
	encoded, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	root["type"], root["properties"] = json.RawMessage(`"object"`), encoded
	if len(required) > 0 {
		list, err := json.Marshal(required)
		if err != nil {
			return nil, errors.New("inputSchema: required cannot be read")
		}
		root["required"] = list
	}
	return json.Marshal(root)
}

// common returns what every one of several forms requires.
func common(forms []map[string]json.RawMessage) []string {
	if len(forms) == 0 {
		return nil
	}
	count := make(map[string]int)
	for _, form := range forms {
		for _, name := range texts(form["required"]) {
			count[name]++
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n < len(forms) })
	return slices.Collect(maps.Keys(count))
}

func schemas(raw json.RawMessage) (list []map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &list)
	return list
}

func fields(raw json.RawMessage) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage)
	_ = json.Unmarshal(raw, &all)
	return all
}

func texts(raw json.RawMessage) (list []string) {
	_ = json.Unmarshal(raw, &list)
	return list
}

// foreignRef finds a $ref that leads out of the schema. None is ever fetched.
func foreignRef(raw json.RawMessage) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	var walk func(v any) string
	walk = func(v any) string {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && strings.Contains(ref, "://") {
				return ref
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if ref := walk(v[name]); ref != "" {
					return ref
				}
			}
		case []any:
			for _, e := range v {
				if ref := walk(e); ref != "" {
					return ref
				}
			}
		}
		return ""
	}
	return walk(value)
}
