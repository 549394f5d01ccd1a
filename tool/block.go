package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// A Block is one piece of content: text, an image, a document, a reference to a tool that
// is described from now on, or a file that no model can read. The pipeline saves such a
// file and replaces it by a text with its path. The JSON is that of the Messages API.
type Block struct {
	Type BlockType
	// Text is the text, the name of the referenced tool, or what the file is.
	Text string
	// MediaType and Data are the bytes of an image, document or other file.
	MediaType string
	Data      []byte
}

// BlockType is the kind of a [Block], spelled as on the wire.
type BlockType string

const (
	TextBlock      BlockType = "text"
	ImageBlock     BlockType = "image"
	DocumentBlock  BlockType = "document"
	ReferenceBlock BlockType = "tool_reference"
	FileBlock      BlockType = "file" // never on the wire
)

// wireBlock has every field that a block may have on the wire.
type wireBlock struct {
	Type     BlockType   `json:"type"`
	Text     *string     `json:"text,omitempty"`
	ToolName string      `json:"tool_name,omitempty"`
	Source   *wireSource `json:"source,omitempty"`
}

type wireSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// MarshalJSON writes the block as on the wire.
func (b Block) MarshalJSON() ([]byte, error) {
	w := wireBlock{Type: b.Type}
	switch b.Type {
	case TextBlock:
		w.Text = &b.Text
	case ReferenceBlock:
		w.ToolName = b.Text
	case ImageBlock, DocumentBlock:
		w.Source = &wireSource{"base64", b.MediaType, b.Data}
	default:
		return nil, fmt.Errorf("encode content block: unknown type %q", b.Type)
	}
	return plainjson.Marshal(w) // the encoder of the whole decides about escapes
}

// Known reports whether the block is of a type that can be sent.
func (b Block) Known() bool {
	switch b.Type {
	case TextBlock, ImageBlock, DocumentBlock, ReferenceBlock, FileBlock:
		return true
	}
	return false
}

// UnmarshalJSON reads a block as on the wire.
func (b *Block) UnmarshalJSON(raw []byte) error {
	var w wireBlock
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("decode content block: %w", err)
	}
	*b = Block{Type: w.Type}
	switch {
	case w.Type == TextBlock && w.Text != nil:
		b.Text = *w.Text
	case w.Type == ReferenceBlock:
		b.Text = w.ToolName
	case (w.Type == ImageBlock || w.Type == DocumentBlock) && w.Source != nil:
		b.MediaType, b.Data = w.Source.MediaType, w.Source.Data
	default:
		return fmt.Errorf("decode content block: a block of type %q without its content", w.Type)
	}
	return nil
}

// JoinText joins the text blocks among content by newlines.
func JoinText(content []Block) string {
	var texts []string
	for _, b := range content {
		if b.Type == TextBlock {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
