package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/shorten"
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

func portableName(name string) bool {
	return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name)
}

// rename gives the root's properties names that providers take.
func (r *repairer) rename(root map[string]any) Names {
	properties, _ := root["properties"].(map[string]any)
	var names Names
	required := listed(root["required"])
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if portableName(name) {
			continue
		}
		ours := newName(name, func(n string) bool { _, taken := properties[n]; return taken || slices.Contains(required, n) })
		property := properties[name]
		delete(properties, name)
		r.set(properties, ours, described(property, name))
		if names == nil {
			names = Names{}
		}
		names[ours] = name
	}
	if names == nil {
		return nil
	}
	for i, name := range required {
		for ours, theirs := range names {
			if theirs == name {
				required[i] = ours
			}
		}
	}
	if len(required) > 0 {
		root["required"] = required
	}
	r.drop(root, "dependentRequired", "dependentSchemas", "dependencies", "if", "then", "else", "not") // they are under the old names
	return names
}

// newName is a name that providers take, for one that they do not.
func newName(name string, taken func(string) bool) string {
	ours := regexp.MustCompile(`[^a-zA-Z0-9_.-]+`).ReplaceAllString(name, "_")
	ours = regexp.MustCompile(`^_+|_+$`).ReplaceAllString(ours, "")
	if ours != "" && len(ours) <= maxName && !taken(ours) {
		return ours
	}
	sum := sha256.Sum256([]byte(name))
	const digits = 8
	return ours[:min(len(ours), maxName-digits-1)] + "_" + hex.EncodeToString(sum[:digits/2])
}

// described says in a property's description what its owner calls it.
func described(property any, name string) any {
	m, ok := property.(map[string]any)
	if !ok {
		return property
	}
	m = maps.Clone(m)
	text, _ := m["description"].(string)
	if text != "" {
		text += " "
	}
	m["description"] = text + "(named " + shorten.To(name, maxName+1) + " by its server)"
	return m
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
