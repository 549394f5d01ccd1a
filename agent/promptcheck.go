package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/haftdev/haft/model"
)

// promptMembers are the members of the blocks that a prompt may have.
var promptMembers = map[model.BlockType][]string{
	model.Text:       {"text", "citations"},
	model.ToolResult: {"tool_use_id", "content", "is_error"},
	"image":          {"source"},
	"document":       {"source", "title", "context", "citations"},
	"search_result":  {"source", "title", "content", "citations"},
}

func checkBlock(b model.Block) error {
	allowed, ok := promptMembers[b.Type]
	if !ok {
		return fmt.Errorf("a prompt cannot contain blocks of type %q, only %s", b.Type, strings.Join(typeNames(), ", "))
	}
	var members map[string]json.RawMessage
	if b.Raw == nil || json.Unmarshal(b.Raw, &members) != nil {
		return nil // what cannot be read is replaced by a text
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "type" && name != "cache_control" && string(members[name]) != "null" && !slices.Contains(allowed, name) {
			return fmt.Errorf("%s blocks have no member %q", b.Type, name)
		}
	}
	if b.Type == "image" || b.Type == "document" {
		return checkSource(b.Type, members["source"])
	}
	return nil
}

func typeNames() []string {
	var names []string
	for t := range promptMembers {
		names = append(names, string(t))
	}
	slices.Sort(names)
	return names
}

// checkSource checks where an image or a document comes from.
func checkSource(kind model.BlockType, raw json.RawMessage) error {
	var source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	if json.Unmarshal(raw, &source) != nil || source.Type == "" {
		return fmt.Errorf("the source of the %s cannot be read", kind)
	}
	switch {
	case source.Type == "url" || source.Type == "file":
	case source.Type == "base64":
		types := []string{"image/gif", "image/jpeg", "image/png", "image/webp"}
		if kind == "document" {
			types = []string{"application/pdf"}
		}
		if !slices.Contains(types, source.MediaType) {
			return fmt.Errorf("the %s has type %q; the API accepts %s", kind, source.MediaType, strings.Join(types, ", "))
		}
		if source.Data == "" {
			return fmt.Errorf("the %s is empty", kind)
		}
	case kind == "document" && (source.Type == "text" || source.Type == "content"):
	default:
		return fmt.Errorf("the %s has a source of type %q, which the API does not support", kind, source.Type)
	}
	return nil
}
