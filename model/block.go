package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/tool"
)

// A Block is one piece of a message. Its JSON is that of the Messages API.
type Block struct {
	Type BlockType
	// Text is the text of a text or thinking block.
	Text string
	// Signature is the provider's signature of a thinking block, and Data is encrypted
	// content.
	Signature, Data string
	// ID, Name and Input are set for a tool_use block.
	ID, Name string
	Input    json.RawMessage
	// UseID, Content and IsError are set for a tool_result block.
	UseID   string
	Content []tool.Block
	IsError bool
	// Raw is a whole block of a type that is not listed below, or of one with parts that have
	// no field above. It is sent back unchanged.
	Raw json.RawMessage
}

// BlockType is the kind of a [Block], spelled as on the wire. Blocks of other types are in
// [Block.Raw].
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

// MarshalJSON writes the block as on the wire.
func (b Block) MarshalJSON() ([]byte, error) { return b.AppendJSON(nil) }

// AppendJSON appends the block as on the wire, in one line.
func (b Block) AppendJSON(dst []byte) ([]byte, error) {
	if b.Raw != nil {
		return plainjson.AppendCompact(dst, b.Raw)
	}
	dst = plainjson.AppendString(append(dst, `{"type":`...), string(b.Type))
	member := func(name, value string) {
		dst = plainjson.AppendString(append(append(append(dst, `,"`...), name...), `":`...), value)
	}
	var err error
	switch b.Type {
	case Text:
		member("text", b.Text)
	case Thinking:
		member("thinking", b.Text)
		member("signature", b.Signature)
	case RedactedThinking:
		member("data", b.Data)
	case ToolUse:
		if b.ID != "" {
			member("id", b.ID)
		}
		if b.Name != "" {
			member("name", b.Name)
		}
		dst = appendSendable(append(dst, `,"input":`...), b.Input)
	case ToolResult:
		if b.UseID != "" {
			member("tool_use_id", b.UseID)
		}
		if dst, err = appendResult(append(dst, `,"content":`...), b.Content); err != nil {
			return nil, err
		}
		if b.IsError {
			dst = append(dst, `,"is_error":true`...)
		}
	default:
		return nil, fmt.Errorf("encode message block: unknown type %q", b.Type)
	}
	return append(dst, '}'), nil
}

// appendSendable appends the input of a call as it may be sent: an object. What a model wrote
// that is none goes back to it as a string, so that it sees what it did.
func appendSendable(dst []byte, input json.RawMessage) []byte {
	input = bytes.TrimSpace(input)
	if len(input) == 0 {
		return append(dst, `{}`...)
	}
	if input[0] == '{' {
		if out, err := plainjson.AppendCompact(dst, input); err == nil {
			return out
		}
	}
	dst = plainjson.AppendString(append(dst, `{"__unparsedToolInput":{"raw":`...), string(input))
	return append(strconv.AppendInt(append(dst, `,"len":`...), int64(len(input)), 10), `}}`...)
}

// appendResult appends the content of a result, a plain string where that says everything: it is what most
// readers of transcripts expect.
func appendResult(dst []byte, blocks []tool.Block) ([]byte, error) {
	if len(blocks) == 1 && blocks[0].Type == tool.TextBlock {
		return plainjson.AppendString(dst, blocks[0].Text), nil
	}
	if len(blocks) == 0 {
		return append(dst, `""`...), nil
	}
	raw, err := plainjson.Marshal(blocks)
	return append(dst, raw...), err
}

// UnmarshalJSON parses a block as on the wire. A block with a cache mark, a citation or
// anything else that has no field also keeps its Raw form.
func (b *Block) UnmarshalJSON(raw []byte) error {
	var w wireBlock
	if err := w.read(raw); err != nil {
		return fmt.Errorf("decode message block: %w", err)
	}
	if w.kind == "" {
		return errors.New("decode message block: it has no type")
	}
	*b = Block{Type: w.kind, ID: w.texts[idMember], Name: w.texts[nameMember], Input: bytes.Clone(w.input), UseID: w.texts[useMember], IsError: w.isError}
	switch w.kind {
	case Text:
		b.Text = w.texts[textMember]
	case Thinking:
		b.Text, b.Signature = w.texts[thinkingMember], w.texts[signatureMember]
	case RedactedThinking:
		b.Data = w.texts[dataMember]
	case ToolUse:
	case ToolResult:
		if err := b.readResult(w.content, raw); err != nil {
			return err
		}
	}
	if b.Raw == nil && w.more {
		b.Raw = bytes.Clone(raw)
	}
	return nil
}

// wireBlock is what a block has on the wire. Every block of a conversation that is resumed comes by here.
type wireBlock struct {
	kind           BlockType
	texts          [len(textMembers)]string
	input, content []byte // as they are written, in the block
	isError        bool
	more           bool // it has something that the fields of its type do not hold
}

const (
	textMember = iota
	thinkingMember
	signatureMember
	dataMember
	idMember
	nameMember
	useMember
)

var textMembers = [...]string{"text", "thinking", "signature", "data", "id", "name", "tool_use_id"}

func (w *wireBlock) read(raw []byte) error {
	seen := make([]string, 0, 8)
	err := plainjson.Members(raw, func(name string, value []byte) (err error) {
		if string(value) == "null" && name != "input" {
			return nil // it says nothing
		}
		seen = append(seen, name)
		switch name {
		case "type":
			var s string
			s, err = plainjson.Text(value)
			w.kind = BlockType(s)
		case "input":
			w.input = value
		case "content":
			w.content = value
		case "is_error":
			err = json.Unmarshal(value, &w.isError)
		default:
			if i := slices.Index(textMembers[:], name); i >= 0 {
				w.texts[i], err = plainjson.Text(value)
			}
		}
		return err
	})
	w.more = slices.ContainsFunc(seen, func(name string) bool { return !slices.Contains(members[w.kind], name) })
	return err
}

// members are those of each type that a [Block] has fields for.
var members = map[BlockType][]string{
	Text:             {"type", "text"},
	Thinking:         {"type", "thinking", "signature"},
	RedactedThinking: {"type", "data"},
	ToolUse:          {"type", "id", "name", "input"},
	ToolResult:       {"type", "tool_use_id", "content", "is_error"},
}

func (b *Block) readResult(content json.RawMessage, raw []byte) error {
	content = bytes.TrimSpace(content)
	switch {
	case len(content) == 0:
	case content[0] == '"':
		b.Content = []tool.Block{{Type: tool.TextBlock}}
		var err error
		b.Content[0].Text, err = plainjson.Text(content)
		return err
	default:
		if json.Unmarshal(content, &b.Content) != nil {
			b.Content, b.Raw = nil, bytes.Clone(raw) // blocks that we do not know
		}
	}
	return nil
}

// size is about how many bytes the block has as JSON.
func (b *Block) size() int {
	n := 128 + len(b.Text) + len(b.Signature) + len(b.Data) + len(b.Input) + len(b.Raw)
	for i := range b.Content {
		n += len(b.Content[i].Text) + 4*len(b.Content[i].Data)/3
	}
	return n + n/16
}
