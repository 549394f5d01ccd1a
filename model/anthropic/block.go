package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// A block is one that is being put together.
type block struct {
	start     model.Block
	text      strings.Builder
	signature strings.Builder
	input     []byte
	citations []json.RawMessage
	// raw has the members of a block that has more than the fields above hold;
	// changed tells that pieces have come since it began.
	raw     map[string]json.RawMessage
	changed bool
}

func newBlock(raw json.RawMessage) (*block, error) {
	b := &block{}
	if err := json.Unmarshal(raw, &b.start); err != nil {
		return nil, err
	}
	if b.start.Raw == nil {
		return b, nil
	}
	if err := json.Unmarshal(raw, &b.raw); err != nil {
		return nil, err
	}
	if cited := b.raw["citations"]; len(cited) > 0 {
		return b, json.Unmarshal(cited, &b.citations)
	}
	return b, nil
}

// add takes a piece in and returns its text. raw is the whole event.
func (b *block) add(d *wireDelta, raw []byte) (string, error) {
	b.changed = true
	switch d.Type {
	case model.TextDelta:
		b.text.WriteString(d.Text)
		return d.Text, nil
	case model.ThinkingDelta:
		b.text.WriteString(d.Thinking)
		return d.Thinking, nil
	case model.InputDelta:
		b.input = append(b.input, d.PartialJSON...)
		return d.PartialJSON, nil
	case model.SignatureDelta:
		b.signature.WriteString(d.Signature)
		return d.Signature, nil
	case "citations_delta":
		b.citations = append(b.citations, bytes.Clone(d.Citation))
		return string(d.Citation), nil
	}
	return b.addOther(raw)
}

// addOther takes in a piece of a kind that is newer than we are: its members
// replace those of the block.
func (b *block) addOther(event []byte) (string, error) {
	var ev struct {
		Delta json.RawMessage `json:"delta"`
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(event, &ev); err != nil {
		return "", err
	}
	if err := json.Unmarshal(ev.Delta, &members); err != nil {
		return "", err
	}
	if b.raw != nil {
		for name, value := range members {
			if name != "type" {
				b.raw[name] = value
			}
		}
	}
	return string(ev.Delta), nil
}

// done is the whole block.
func (b *block) done() (model.Block, error) {
	whole := b.start
	whole.Raw = nil
	whole.Text, whole.Signature = b.text.String(), b.signature.String()
	if len(b.input) > 0 {
		whole.Input = b.input
	}
	if whole.Type == model.ToolUse && len(whole.Input) == 0 {
		whole.Input = json.RawMessage("{}")
	}
	if b.raw == nil && len(b.citations) == 0 {
		return whole, nil
	}
	if !b.changed {
		whole.Raw = b.start.Raw
		return whole, nil
	}
	if len(whole.Input) > 0 && !json.Valid(whole.Input) {
		return b.broken(whole), nil
	}
	var err error
	whole.Raw, err = b.rawForm(&whole)
	return whole, err
}

// broken is a block whose input was cut off. Members that the fields do not hold are
// lost; one of a kind that has no fields at all stays as it began.
func (b *block) broken(whole model.Block) model.Block {
	switch whole.Type {
	case model.Text, model.Thinking, model.RedactedThinking, model.ToolUse, model.ToolResult:
	default:
		whole.Raw = b.start.Raw
	}
	return whole
}

// rawForm is the block with everything that it has.
func (b *block) rawForm(whole *model.Block) (json.RawMessage, error) {
	members := map[string]any{"type": whole.Type}
	for name, value := range b.raw {
		members[name] = value
	}
	switch {
	case whole.Type == model.Text:
		members["text"] = whole.Text
	case whole.Type == model.Thinking:
		members["thinking"], members["signature"] = whole.Text, whole.Signature
	case len(whole.Input) > 0:
		members["input"] = whole.Input
	}
	if len(b.citations) > 0 {
		members["citations"] = b.citations
	}
	return plainjson.Marshal(members)
}

// head is the block as it begins.
func (b *block) head() model.Block {
	return model.Block{Type: b.start.Type, ID: b.start.ID, Name: b.start.Name, Data: b.start.Data, Raw: b.start.Raw}
}

// first is the text that a block begins with; most begin with none.
func (b *block) first() (model.Delta, bool) {
	if b.start.Type != model.Text && b.start.Type != model.Thinking || b.start.Text == "" {
		b.signature.WriteString(b.start.Signature)
		return model.Delta{}, false
	}
	b.text.WriteString(b.start.Text)
	b.signature.WriteString(b.start.Signature)
	if b.start.Type == model.Thinking {
		return model.Delta{Type: model.ThinkingDelta, Text: b.start.Text}, true
	}
	return model.Delta{Type: model.TextDelta, Text: b.start.Text}, true
}
