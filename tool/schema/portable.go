package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Portable converts a foreign schema into one that providers accept for a tool's input: valid
// by draft 2020-12, an object whose root has properties and no alternatives, with names that
// they accept. Properties of alternatives become optional, with a sentence that says what the
// alternatives require. Keywords without meaning are left out, since the schema's author still
// checks the input. A schema that needs no change keeps its bytes. Portable fails if the
// schema cannot describe an object.
func Portable(raw json.RawMessage) (json.RawMessage, Names, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var root map[string]any
	if err := dec.Decode(&root); err != nil || root == nil {
		return nil, nil, errors.Join(errors.New("the schema is not an object"), err)
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
	r.flatten(root, 0)
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
	forms   int // parts and alternatives that were followed
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
			return fmt.Errorf("the schema has the type %s, but a tool's input must be an object", kind)
		}
		if kind != "object" {
			r.set(root, "type", "object")
		}
	case []any:
		if !slices.Contains(kind, any("object")) {
			return fmt.Errorf("the schema has the types %v, but a tool's input must be an object", kind)
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

// flatten gives the root what its parts and alternatives have, as far as that can be said
// without them: providers take neither at the root, and both below it.
func (r *repairer) flatten(root map[string]any, depth int) {
	forms, parts := slices.Concat(forms(root["anyOf"]), forms(root["oneOf"])), forms(root["allOf"])
	r.forms += len(forms) + len(parts)
	if len(forms)+len(parts) == 0 || depth > maxFlat || r.forms > maxForms {
		if root["properties"] == nil && r.changed {
			root["properties"] = map[string]any{}
		}
		r.drop(root, "anyOf", "oneOf", "allOf") // those that are empty, or refer to themselves
		return
	}
	for _, form := range slices.Concat(parts, forms) {
		r.inline(form)
		r.flatten(form, depth+1)
	}
	own, _ := root["properties"].(map[string]any)
	properties := merged(maps.Clone(own), "allOf", parts)
	properties = merged(properties, "allOf", []map[string]any{{"properties": merged(nil, "anyOf", forms)}})
	required := listed(root["required"])
	for _, part := range parts {
		required = append(required, listed(part["required"])...)
		r.hoist(root, part)
	}
	required = append(required, common(forms)...)
	slices.Sort(required)
	if required = slices.Compact(required); len(required) > 0 {
		root["required"] = required
	}
	r.close(root, len(own) == len(properties), parts, forms)
	r.drop(root, "anyOf", "oneOf", "allOf", "unevaluatedProperties")
	root["properties"] = properties
	if text := choices(forms); text != "" {
		said, _ := root["description"].(string)
		root["description"] = strings.TrimSpace(said + " " + text)
	}
}

// Bounds of parts that are followed, which may refer to themselves: how deep, and how many.
const (
	maxFlat  = 8
	maxForms = 1000
)

// merged adds the properties of several schemas. What they say differently about one is joined
// by a keyword, which may stand below the root.
func merged(properties map[string]any, keyword string, schemas []map[string]any) map[string]any {
	if properties == nil {
		properties = map[string]any{}
	}
	said := map[string][]any{}
	for name, property := range properties {
		said[name] = []any{property}
	}
	for _, s := range schemas {
		more, _ := s["properties"].(map[string]any)
		for name, property := range more {
			known := slices.ContainsFunc(said[name], func(p any) bool { return reflect.DeepEqual(p, property) })
			if !known && !(keyword == "allOf" && len(said[name]) > 0 && empty(property)) {
				said[name] = append(said[name], property)
			}
		}
	}
	for name, all := range said {
		if properties[name] = all[0]; len(all) > 1 {
			properties[name] = map[string]any{keyword: all}
		}
	}
	return properties
}

// empty reports whether a schema says nothing.
func empty(v any) bool {
	m, ok := v.(map[string]any)
	return v == true || ok && len(m) == 0
}

// hoisted are keywords of a part that hold for the root as they are, if it has none of its
// own. Those of one line belong together.
var hoisted = [][]string{{"if", "then", "else"}, {"patternProperties"}, {"dependentRequired"}, {"dependentSchemas"}, {"propertyNames"}, {"not"}, {"minProperties"}, {"maxProperties"}}

func (r *repairer) hoist(root, part map[string]any) {
	for _, keys := range hoisted {
		if slices.ContainsFunc(keys, func(k string) bool { _, taken := root[k]; return taken }) {
			continue
		}
		for _, key := range keys {
			if value, ok := part[key]; ok {
				r.set(root, key, value)
			}
		}
	}
}

// close says whether other properties than those that are named are refused. What the root
// says is about its own properties: with those of its parts it would refuse too much.
func (r *repairer) close(root map[string]any, complete bool, parts, forms []map[string]any) {
	if !complete {
		r.drop(root, "additionalProperties")
	}
	open := func(form map[string]any) bool { return form["additionalProperties"] != false }
	if root["unevaluatedProperties"] == false || len(parts) == 0 && len(forms) > 0 && !slices.ContainsFunc(forms, open) {
		r.set(root, "additionalProperties", false)
	}
}

// Bounds of what is said about alternatives.
const (
	maxChoices = 12
	maxChoice  = 200
)

// choices says in words what alternatives require besides each other; "" for nothing.
func choices(forms []map[string]any) string {
	var texts []string
	always := common(forms)
	for _, form := range forms {
		var needs []string
		properties, _ := form["properties"].(map[string]any)
		for _, name := range listed(form["required"]) {
			property, _ := properties[name].(map[string]any)
			value, fixed := property["const"]
			if fixed {
				text, _ := json.Marshal(value)
				name += " " + string(text)
			}
			if fixed || !slices.Contains(always, name) {
				needs = append(needs, name)
			}
		}
		if len(needs) == 0 {
			return "" // one of them needs nothing more than all do
		}
		text := strings.Join(needs, " and ")
		if len(text) > maxChoice {
			return ""
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) < 2 || len(texts) > maxChoices {
		return ""
	}
	return "Required: " + strings.Join(texts, ", or ") + "."
}

// forms are the schemas of a list, to be changed: what they are part of may be referred to.
func forms(v any) (list []map[string]any) {
	all, _ := v.([]any)
	for _, e := range all {
		if m, ok := e.(map[string]any); ok {
			list = append(list, maps.Clone(m))
		}
	}
	return list
}

// listed are the texts of a list, as it was decoded or as it was made here.
func listed(v any) (list []string) {
	if made, ok := v.([]string); ok {
		return slices.Clone(made)
	}
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
		for _, name := range listed(form["required"]) {
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
