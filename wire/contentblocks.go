package wire

import (
	"bytes"
	"encoding/json"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// A NullString is a string that is null on the wire when it is empty.
type NullString string

// MarshalJSON writes null for the empty string.
func (s NullString) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return plainjson.Marshal(string(s))
}

// A List is an array that is never null on the wire.
type List[T any] []T

// MarshalJSON writes an empty array for nil.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return plainjson.Marshal([]T(l))
}

// Content is the content of a message or a tool result: a plain string, or blocks. On the
// wire it is an array if Blocks is not nil, otherwise a string.
type Content struct {
	Text   string
	Blocks []Block
}

// All returns the content as blocks, a plain string as one block of text.
func (c Content) All() []Block {
	if c.Blocks == nil && c.Text != "" {
		return []Block{Text(c.Text)}
	}
	return c.Blocks
}

// String returns the text in the content; blocks of text are concatenated.
func (c Content) String() string {
	var b bytes.Buffer
	for _, block := range c.All() {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// MarshalJSON writes a string or an array.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Blocks == nil {
		return plainjson.Marshal(c.Text)
	}
	return plainjson.Marshal(c.Blocks)
}

// UnmarshalJSON reads a string, an array, or null.
func (c *Content) UnmarshalJSON(raw []byte) error {
	*c = Content{}
	if bytes.HasPrefix(skipSpace(raw), []byte(`"`)) {
		return json.Unmarshal(raw, &c.Text)
	}
	return json.Unmarshal(raw, &c.Blocks)
}

// A Block is one piece of content: text, thinking, tool_use, tool_result, image, document
// or another. Fields that its type does not have are empty.
type Block struct {
	Type string `json:"type" wire:"nonempty"`
	// Text is set for a text block.
	Text string `json:"text,omitempty"`
	// Thinking is set for a thinking block.
	Thinking string `json:"thinking,omitempty"`
	// ID, Name and Input are set for a tool_use block.
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// ToolUseID, Content and IsError are set for a tool_result block.
	ToolUseID string   `json:"tool_use_id,omitempty"`
	Content   *Content `json:"content,omitempty"`
	IsError   *bool    `json:"is_error,omitempty"`

	// Raw is the block as it was received. If it is set, it is what is written, so that
	// signatures and unknown types pass through unchanged; to change a block, make a new
	// one.
	Raw json.RawMessage `json:"-"`
}

// Text returns a block of text.
func Text(s string) Block { return Block{Type: "text", Text: s} }

// ToolResult returns the result block of a tool call that did not fail.
func ToolResult(toolUseID string, c Content) Block {
	return Block{Type: "tool_result", ToolUseID: toolUseID, Content: &c}
}

// Failed reports whether the block is the result of a call that failed.
func (b *Block) Failed() bool { return b.IsError != nil && *b.IsError }

// MarshalJSON writes Raw if there is one.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.Raw != nil {
		return b.Raw, nil
	}
	type plain Block
	if b.Type == "text" { // also when it is empty
		return plainjson.Marshal(struct {
			plain
			Text string `json:"text"`
		}{plain(b), b.Text})
	}
	return plainjson.Marshal(plain(b))
}

// UnmarshalJSON reads any object with a type.
func (b *Block) UnmarshalJSON(raw []byte) error {
	type plain Block
	p := plain{}
	if err := json.Unmarshal(raw, &p); err != nil {
		// Foreign blocks use our names for other shapes; their content stays in Raw.
		p = plain{}
		var just struct{ Type string }
		if err := json.Unmarshal(raw, &just); err != nil {
			return err
		}
		p.Type = just.Type
	}
	*b = Block(p)
	b.Raw = bytes.Clone(raw)
	return nil
}

// Usage counts tokens, as the Messages API does.
type Usage struct {
	InputTokens              int             `json:"input_tokens"`
	OutputTokens             int             `json:"output_tokens"`
	CacheCreationInputTokens int             `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int             `json:"cache_read_input_tokens"`
	CacheCreation            json.RawMessage `json:"cache_creation,omitempty"`
	ServerToolUse            json.RawMessage `json:"server_tool_use,omitempty"`
	ServiceTier              NullString      `json:"service_tier,omitempty"`
	InferenceGeo             NullString      `json:"inference_geo,omitempty"`
	Speed                    NullString      `json:"speed,omitempty"`
	Iterations               json.RawMessage `json:"iterations,omitempty"`
	OutputTokensDetails      json.RawMessage `json:"output_tokens_details,omitempty"`
}

// ModelUsage counts what one model was used for since the process started.
type ModelUsage struct {
	InputTokens              int     `json:"inputTokens"`
	OutputTokens             int     `json:"outputTokens"`
	CacheReadInputTokens     int     `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int     `json:"cacheCreationInputTokens"`
	WebSearchRequests        int     `json:"webSearchRequests"`
	CostUSD                  float64 `json:"costUSD"`
	ContextWindow            int     `json:"contextWindow"`
	MaxOutputTokens          int     `json:"maxOutputTokens"`
	ThinkingTokens           int     `json:"thinkingTokens,omitempty"`
	CanonicalModel           string  `json:"canonicalModel,omitempty"`
	Provider                 string  `json:"provider,omitempty"`
	CostBasis                string  `json:"costBasis,omitempty"`
}
