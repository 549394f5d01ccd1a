package strictapi

import (
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

var (
	toolName    = lazyregexp.New(`^[a-zA-Z0-9_-]{1,128}$`)
	propertyKey = lazyregexp.New(`^[a-zA-Z0-9_.-]{1,64}$`)
)

const (
	maxDeferred      = 10_000
	maxStrictTools   = 20
	maxStrictOption  = 24
	maxStrictUnions  = 16
	draftNotMet      = "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12)"
	noUnionsOnTop    = "input_schema does not support oneOf, allOf, or anyOf at the top level"
	allToolsDeferred = "At least one tool must have defer_loading=false. All tools cannot be deferred."
)

func (c *checker) checkTools() {
	names := map[string]bool{}
	deferred := 0
	strict := &strictCount{}
	for i, t := range c.tools {
		p := path{"tools"}.at(i)
		name := str(t["name"])
		if name != "" && names[name] {
			c.add("tool-unique", path{"tools"}, "Tool names must be unique. (%s)", name)
		}
		names[name] = true
		if t["defer_loading"] == true {
			deferred++
		}
		if t["input_schema"] != nil {
			c.checkCustom(p.at("custom"), t)
		} else {
			c.checkServerTool(p.at(str(t["type"])), t)
		}
		if t["strict"] == true {
			strict.tools++
			if schema, ok := t["input_schema"].(map[string]any); ok {
				strict.add(schema)
				if fault := outputFault(schema); fault != "" {
					c.add("strict-schema", p.at("custom", "input_schema"), fault)
				}
			}
		}
	}
	if deferred > 0 && deferred == len(c.tools) {
		c.add("tool-defer", nil, allToolsDeferred)
	}
	if deferred > maxDeferred {
		c.add("tool-defer", path{"tools"}, "at most %d tools can be deferred", maxDeferred)
	}
	if schema, ok := get(c.root, "output_config", "format", "schema").(map[string]any); ok {
		strict.add(schema)
	}
	if strict.tools > maxStrictTools || strict.optional > maxStrictOption || strict.unions > maxStrictUnions {
		c.add("strict-schema", nil, "Schemas contain too many strict tools, optional parameters or parameters with union types (%d, %d, %d)", strict.tools, strict.optional, strict.unions)
	}
	c.checkChoice(names)
}

func (c *checker) checkCustom(p path, t map[string]any) {
	name := str(t["name"])
	switch {
	case !toolName.MatchString(name):
		c.add("tool-name", p.at("name"), "String should match pattern '%s'", toolName)
	case len(name) > 64:
		c.add("tool-name-64", p.at("name"), "names over 64 characters")
	}
	p = p.at("input_schema")
	schema, ok := t["input_schema"].(map[string]any)
	if !ok {
		return // that is a fault of the shape
	}
	for _, key := range []string{"oneOf", "allOf", "anyOf"} {
		if _, ok := schema[key]; ok {
			c.add("tool-schema-top", p, noUnionsOnTop)
			break
		}
	}
	if fault := schemaFault(schema); fault != "" {
		c.add("tool-schema", p, draftNotMet+" ("+fault+")")
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range sortedKeys(properties) {
		if !propertyKey.MatchString(key) {
			c.add("tool-schema-keys", p.at("properties"), "Property keys should match pattern '%s' (%q)", propertyKey, key)
		}
	}
}

// schemaFault returns what makes a schema invalid by the metaschema of draft
// 2020-12, "" if nothing does.
func schemaFault(schema any) string { return schemaFaultAt("", schema) }

func (c *checker) checkServerTool(p path, t map[string]any) {
	if t["allowed_domains"] != nil && t["blocked_domains"] != nil {
		c.add("web-domains", p, "only one of `allowed_domains` and `blocked_domains` can be given")
	}
	kind := str(t["type"])
	if t["input_examples"] != nil && (strings.HasPrefix(kind, "web_") || strings.HasPrefix(kind, "code_execution")) {
		c.add("tool-examples", p.at("input_examples"), "Extra inputs are not permitted")
	}
}

func (c *checker) checkChoice(names map[string]bool) {
	kind := str(get(c.root, "tool_choice", "type"))
	if kind == "" {
		return
	}
	p := path{"tool_choice"}
	if len(c.tools) == 0 && kind != "none" {
		c.add("tool-choice", p, "tool_choice may only be specified while providing tools")
		return
	}
	if kind != "tool" && kind != "any" {
		return
	}
	if name := str(get(c.root, "tool_choice", "name")); kind == "tool" && !names[name] {
		c.add("tool-choice", p, "Tool '%s' not found in provided tools", name)
	}
	if get(c.root, "thinking", "type") == "enabled" {
		c.add("tool-choice", nil, "Thinking may not be enabled when tool_choice forces tool use.")
	}
	if c.known && !c.model.forced {
		c.add("tool-choice", p, "type \"%s\" is not supported for this model. Use \"auto\" or \"none\".", kind)
	}
}

// A strictCount adds up what all strict schemas of a request have.
type strictCount struct{ tools, optional, unions int }

func (s *strictCount) add(schema map[string]any) {
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		sub, _ := p.(map[string]any)
		if !contains(required, name) {
			s.optional++
		}
		if _, ok := sub["type"].([]any); ok || sub["anyOf"] != nil {
			s.unions++
		}
		s.add(sub)
		if items, ok := sub["items"].(map[string]any); ok {
			s.add(items)
		}
	}
}

func contains(list []any, name string) bool {
	for _, v := range list {
		if v == name {
			return true
		}
	}
	return false
}
