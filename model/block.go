package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/tool"
)

// A Block is one piece of a message. Its JSON is that of the Messages API.
type Block struct {
	Type BlockType
	// Text is what a text or thinking block says.
	Text string
	// Signature is the provider's seal of a thinking block, Data its sealed content.
	Signature, Data string
	// ID, Name and Input are those of a tool_use.
	ID, Name string
	Input    json.RawMessage
	// UseID, Content and IsError are those of a tool_result.
	UseID   string
	Content []tool.Block
	IsError bool
	// Raw is a whole block of a type that is not listed below, or one that has
	// parts which the fields above do not hold. It is sent as it came.
	Raw json.RawMessage
}

// BlockType is the kind of a [Block], spelled as on the wire. Other types than
// these are carried in [Block.Raw].
type BlockType string

const (
	Text             BlockType = "text"
	Thinking         BlockType = "thinking"
	RedactedThinking BlockType = "redacted_thinking"
	ToolUse          BlockType = "tool_use"
	ToolResult       BlockType = "tool_result"
)

// TextOf returns a text block.
func TextOf(s string) Block { return Block{Type: Text, Text: s} }

// ContentOf returns a tool's block as one of a message.
func ContentOf(b tool.Block) Block {
	if b.Type == tool.TextBlock {
		return TextOf(b.Text)
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return TextOf("[" + err.Error() + "]")
	}
	return Block{Type: BlockType(b.Type), Raw: raw}
}

// wireBlock has every field that a block may have on the wire.
type wireBlock struct {
	Type      BlockType       `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	Data      *string         `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	UseID     string          `json:"tool_use_id,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

// MarshalJSON writes the block as on the wire.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.Raw != nil {
		return b.Raw, nil
	}
	w := wireBlock{Type: b.Type}
	switch b.Type {
	case Text:
		w.Text = &b.Text
	case Thinking:
		w.Thinking, w.Signature = &b.Text, &b.Signature
	case RedactedThinking:
		w.Data = &b.Data
	case ToolUse:
		w.ID, w.Name, w.Input = b.ID, b.Name, sendable(b.Input)
	case ToolResult:
		w.UseID, w.IsError = b.UseID, b.IsError
		var err error
		if w.Content, err = resultContent(b.Content); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("encode message block: unknown type %q", b.Type)
	}
	return plainjson.Marshal(w)
}

// sendable is the input of a call as it may be sent: an object. What a model wrote
// that is none goes back to it as a string, so that it sees what it did.
func sendable(input json.RawMessage) json.RawMessage {
	input = bytes.TrimSpace(input)
	if len(input) == 0 {
		return json.RawMessage("{}")
	}
	if input[0] == '{' && json.Valid(input) {
		return input
	}
	var wrapped struct {
		Unparsed struct {
			Raw string `json:"raw"`
			Len int    `json:"len"`
		} `json:"__unparsedToolInput"`
	}
	wrapped.Unparsed.Raw, wrapped.Unparsed.Len = string(input), len(input)
	raw, err := plainjson.Marshal(wrapped)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// resultContent is a plain string where that says everything: it is what most
// readers of transcripts expect.
func resultContent(blocks []tool.Block) (json.RawMessage, error) {
	if len(blocks) == 1 && blocks[0].Type == tool.TextBlock {
		return plainjson.Marshal(blocks[0].Text)
	}
	if len(blocks) == 0 {
		return json.RawMessage(`""`), nil
	}
	return plainjson.Marshal(blocks)
}

// UnmarshalJSON reads a block as on the wire. A block with a cache mark, a
// citation or anything else that the fields do not hold keeps its Raw form too.
func (b *Block) UnmarshalJSON(raw []byte) error {
	var w wireBlock
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("decode message block: %w", err)
	}
	if w.Type == "" {
		return errors.New("decode message block: it has no type")
	}
	*b = Block{Type: w.Type, ID: w.ID, Name: w.Name, Input: w.Input, UseID: w.UseID, IsError: w.IsError}
	switch w.Type {
	case Text:
		b.Text = value(w.Text)
	case Thinking:
		b.Text, b.Signature = value(w.Thinking), value(w.Signature)
	case RedactedThinking:
		b.Data = value(w.Data)
	case ToolUse:
	case ToolResult:
		if err := b.readResult(w.Content, raw); err != nil {
			return err
		}
	}
	if b.Raw == nil && hasMore(raw, w.Type) {
		b.Raw = bytes.Clone(raw)
	}
	return nil
}

// members are those of each type that a [Block] has fields for.
var members = map[BlockType][]string{
	Text:             {"type", "text"},
	Thinking:         {"type", "thinking", "signature"},
	RedactedThinking: {"type", "data"},
	ToolUse:          {"type", "id", "name", "input"},
	ToolResult:       {"type", "tool_use_id", "content", "is_error"},
}

// hasMore reports whether a block, which is an object in JSON, has something that the fields do not hold. It looks at the
// names of its members only: every block of a conversation that is resumed comes by here.
func hasMore(raw []byte, t BlockType) bool {
	depth, name := 0, []byte(nil) // the name is set between it and its value
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '"':
			end := endOfString(raw, i)
			if depth == 1 && name == nil {
				name = raw[i+1 : end]
			} else if depth == 1 && !slices.Contains(members[t], string(name)) {
				return true
			}
			i = end
		case '{', '[':
			if depth == 1 && !slices.Contains(members[t], string(name)) {
				return true
			}
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 1 {
				name = nil
			}
		case ' ', '\t', '\n', '\r', ':':
		default:
			if depth == 1 && c != 'n' && !slices.Contains(members[t], string(name)) {
				return true
			}
			for i+1 < len(raw) && !bytes.ContainsRune([]byte(",}] \t\r\n"), rune(raw[i+1])) {
				i++ // the rest of a number or a word
			}
		}
	}
	return false
}

// endOfString returns where the string that begins at a quote ends.
func endOfString(raw []byte, quote int) int {
	for i := quote + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(raw) - 1
}

func (b *Block) readResult(content json.RawMessage, raw []byte) error {
	content = bytes.TrimSpace(content)
	switch {
	case len(content) == 0:
	case content[0] == '"':
		b.Content = []tool.Block{{Type: tool.TextBlock}}
		return json.Unmarshal(content, &b.Content[0].Text)
	default:
		if json.Unmarshal(content, &b.Content) != nil {
			b.Content, b.Raw = nil, bytes.Clone(raw) // blocks that we do not know
		}
	}
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
