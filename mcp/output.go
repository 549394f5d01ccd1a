package mcp

import "encoding/json"

// An Output is the typed output of a tool: what the server sent, unchanged. Its
// JSON is the content list, or an object of both when there is structured
// content.
type Output struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent,omitempty"`
	Meta       json.RawMessage   `json:"_meta,omitempty"`
}

// MarshalJSON writes the output as on the wire.
func (o Output) MarshalJSON() ([]byte, error) {
	if o.Content == nil {
		o.Content = []json.RawMessage{}
	}
	if o.Structured == nil && o.Meta == nil {
		return json.Marshal(o.Content)
	}
	type plain Output
	return json.Marshal(plain(o))
}
