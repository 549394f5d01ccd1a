package strictapi

import (
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

// schemaFault returns what makes a schema invalid by the metaschema of draft
// 2020-12, "" if nothing does.
func schemaFault(schema any) string { return schemaFaultAt("", schema) }

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
