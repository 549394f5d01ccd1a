package servers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/haftdev/haft/model"
)

// stopReasons are the words that MCP has for the ends of answers.
var stopReasons = map[model.StopReason]string{
	model.EndTurn: "endTurn", model.MaxTokens: "maxTokens", model.StopSequence: "stopSequence", model.StopToolUse: "toolUse",
}

// A sampledBlock is a block of a message as MCP spells it.
type sampledBlock struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`

	Data     string `json:"data,omitempty"`
	MimeType string `json:"mimeType,omitempty"`

	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	UseID   string        `json:"toolUseId,omitempty"`
	Content sampledBlocks `json:"content,omitempty"`
	IsError bool          `json:"isError,omitempty"`
}

// sampledBlocks are a list, or one block alone.
type sampledBlocks []sampledBlock

func (b *sampledBlocks) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] != '[' {
		raw = append(append([]byte{'['}, raw...), ']')
	}
	return json.Unmarshal(raw, (*[]sampledBlock)(b))
}

// sampled reads the messages of a server.
func sampled(raw json.RawMessage) (*model.History, error) {
	var messages []struct {
		Role    model.Role    `json:"role"`
		Content sampledBlocks `json:"content"`
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, fmt.Errorf("read the server's messages: %w", err)
	}
	history := new(model.History)
	for _, m := range messages {
		var content []model.Block
		for _, b := range m.Content {
			block, err := b.forModel()
			if err != nil {
				return nil, err
			}
			content = append(content, block)
		}
		if err := history.Append(model.Message{Role: m.Role, Content: content}); err != nil {
			return nil, fmt.Errorf("read the server's messages: %w", err)
		}
	}
	return history, nil
}

// forModel is the block as models read it.
func (b *sampledBlock) forModel() (model.Block, error) {
	var raw any
	switch b.Type {
	case "text":
		return model.TextOf(b.Text), nil
	case "image":
		raw = map[string]any{"type": "image", "source": map[string]string{"type": "base64", "media_type": b.MimeType, "data": b.Data}}
	case "tool_use":
		raw = map[string]any{"type": "tool_use", "id": b.ID, "name": b.Name, "input": b.Input}
	case "tool_result":
		content := []model.Block{}
		for _, inner := range b.Content {
			block, err := inner.forModel()
			if err != nil {
				return block, err
			}
			content = append(content, block)
		}
		raw = map[string]any{"type": "tool_result", "tool_use_id": b.UseID, "content": content, "is_error": b.IsError}
	default:
		return model.Block{}, fmt.Errorf("the model does not accept content of type %q", b.Type)
	}
	var block model.Block
	encoded, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(encoded, &block)
	}
	return block, err
}

// sampledTools are the tools that a server brings for its own use of the model.
func sampledTools(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if err := json.Unmarshal(raw, &tools); err != nil {
		return nil, fmt.Errorf("read the server's tools: %w", err)
	}
	described := []map[string]any{}
	for _, t := range tools {
		described = append(described, map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.InputSchema})
	}
	return json.Marshal(described)
}

// forServer is an answer as a server reads it: text and calls. Thoughts are not its
// business.
func forServer(blocks []model.Block) (json.RawMessage, error) {
	said := []sampledBlock{}
	for _, b := range blocks {
		switch b.Type {
		case model.Text:
			said = append(said, sampledBlock{Type: "text", Text: b.Text})
		case model.ToolUse:
			said = append(said, sampledBlock{Type: "tool_use", ID: b.ID, Name: b.Name, Input: b.Input})
		}
	}
	if len(said) == 0 {
		return nil, errors.New("the model returned no answer")
	}
	return json.Marshal(said)
}
