package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Portable makes a foreign schema one that providers take as a tool's input: valid by
// draft 2020-12, an object whose root has properties and no alternatives, under names
// that they take. What alternatives had becomes optional, and what says nothing is left
// out: the schema's author still checks. A schema that needs no change keeps its
// bytes. It fails if the schema cannot be that of an object.
func Portable(raw json.RawMessage) (json.RawMessage, Names, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var root map[string]any
	if err := dec.Decode(&root); err != nil || root == nil {
		return nil, nil, errors.Join(errors.New("the schema is no object"), err)
	}
	if ref := foreignRef(root); ref != "" {
		return nil, nil, fmt.Errorf("the schema refers to %s, which is not part of it", ref)
	}
	r := &repairer{root: root}
	r.inline(root)
	if err := r.object(root); err != nil {
		return nil, nil, err
	}
	r.schema(root)
	r.flatten(root)
	names := r.rename(root)
	if !r.changed {
		return raw, nil, nil
	}
	out, err := json.Marshal(root)
	return out, names, err
}

// A repairer changes a schema in place.
type repairer struct {
	root    map[string]any
	changed bool
}

func (r *repairer) set(m map[string]any, key string, value any) { m[key], r.changed = value, true }

func (r *repairer) drop(m map[string]any, keys ...string) {
	for _, key := range keys {
		if _, ok := m[key]; ok {
			delete(m, key)
			r.changed = true
		}
	}
}

// inline puts what the root refers to in place of the reference.
func (r *repairer) inline(root map[string]any) {
	for range 10 { // a reference may lead to another
		ref, ok := root["$ref"].(string)
		if !ok {
			return
		}
		r.drop(root, "$ref")
		target, _ := pointed(r.root, ref).(map[string]any)
		for key, value := range target {
			if _, there := root[key]; !there {
				root[key] = value
			}
		}
	}
	r.drop(root, "$ref")
}

// pointed is what a local reference leads to; nil if there is no such thing.
func pointed(root any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := root
	for step := range strings.SplitSeq(path, "/") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

// object makes the root the schema of an object.
func (r *repairer) object(root map[string]any) error {
	switch kind := root["type"].(type) {
	case string:
		if known := synonym(kind); known != "object" && known != "" {
			return fmt.Errorf("the schema has the type %s, a tool's input is an object", kind)
		}
		if kind != "object" {
			r.set(root, "type", "object")
		}
	case []any:
		if !slices.Contains(kind, any("object")) {
			return fmt.Errorf("the schema has the types %v, a tool's input is an object", kind)
		}
		r.set(root, "type", "object")
	default:
		r.set(root, "type", "object")
	}
	if _, ok := root["properties"].(map[string]any); !ok && root["properties"] != nil {
		r.drop(root, "properties")
	}
	return nil
}

// flatten gives the root the properties of its alternatives.
func (r *repairer) flatten(root map[string]any) {
	forms, all := slices.Concat(forms(root["anyOf"]), forms(root["oneOf"])), forms(root["allOf"])
	if len(forms)+len(all) == 0 {
		if root["properties"] == nil && r.changed {
			root["properties"] = map[string]any{}
		}
		return
	}
	properties, _ := root["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	required := texts(root["required"])
	for _, form := range slices.Concat(all, forms) {
		r.inline(form)
		more, _ := form["properties"].(map[string]any)
		for name, property := range more {
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
	r.drop(root, "anyOf", "oneOf", "allOf", "additionalProperties", "unevaluatedProperties") // the last two were about the root's own
	root["properties"] = properties
	if required = slices.Compact(required); len(required) > 0 {
		root["required"] = required
	}
}

func forms(v any) (list []map[string]any) {
	all, _ := v.([]any)
	for _, e := range all {
		if m, ok := e.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

func texts(v any) (list []string) {
	all, _ := v.([]any)
	for _, e := range all {
		if s, ok := e.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// common returns what every one of several forms requires.
func common(forms []map[string]any) []string {
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

// foreignRef finds a $ref that leads out of the schema. None is ever fetched.
func foreignRef(v any) string {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && strings.Contains(ref, "://") {
			return ref
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if ref := foreignRef(v[name]); ref != "" {
				return ref
			}
		}
	case []any:
		for _, e := range v {
			if ref := foreignRef(e); ref != "" {
				return ref
			}
		}
	}
	return ""
}
