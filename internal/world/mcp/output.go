package mcp

import (
	"bytes"
	"encoding/json"
)

// An Output is the typed output of a tool: what the server sent, unchanged. Its JSON is the
// content list, or an object with both if there is structured content.
type Output struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent,omitempty"`
	Meta       json.RawMessage   `json:"_meta,omitempty"`
}

// MarshalJSON writes the output as on the wire.
func (o Output) MarshalJSON() ([]byte, error) { return o.EncodedJSON() }

// EncodedJSON returns its JSON, joined from the parts as they were received, because results
// may be large.
func (o Output) EncodedJSON() ([]byte, error) {
	list := rawBytes(o.Content)
	size := len(`{"content":[],"structuredContent":,"_meta":}`) + len(o.Structured) + len(o.Meta)
	for _, part := range list {
		size += len(part) + len(",")
	}
	object := o.Structured != nil || o.Meta != nil
	content := make([]byte, 0, size) // once: it may be long
	if object {
		content = append(content, `{"content":`...)
	}
	content = append(content, '[')
	for i, part := range list {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, part...)
	}
	content = append(content, ']')
	if object {
		if len(o.Structured) > 0 {
			content = append(append(content, `,"structuredContent":`...), o.Structured...)
		}
		if len(o.Meta) > 0 {
			content = append(append(content, `,"_meta":`...), o.Meta...)
		}
		content = append(content, '}')
	}
	if bytes.IndexByte(content, '\n') < 0 {
		return content, nil
	}
	var line bytes.Buffer // a server may send JSON in several lines
	err := json.Compact(&line, content)
	return line.Bytes(), err
}

func rawBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, raw := range list {
		if out[i] = raw; len(raw) == 0 {
			out[i] = []byte("null")
		}
	}
	return out
}
