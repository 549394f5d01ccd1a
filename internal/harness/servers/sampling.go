package servers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
)

// sampling lets MCP servers use the conversation's model, if the settings switch it on:
// {"mcp": {"sampling": true}}. The user is asked about each server once, and what a
// server gets is counted as the conversation's. Nil means that servers cannot.
func (s *Servers) sampling() *mcp.Sampling {
	if !s.opts.Project.Counts.Flag("mcp", "sampling") {
		return nil
	}
	allowed := &mcp.Sampling{Create: s.sample}
	if v, ok := s.opts.Project.Counts.Lookup("mcp", "samplingTokens"); ok {
		_ = json.Unmarshal(v.JSON, &allowed.MaxTokens) // doctor tells what is wrong with it
	}
	if elicit := s.opts.Given.Elicit; elicit != nil {
		allowed.Consent = func(ctx context.Context, server string) (bool, error) {
			answer, err := elicit(ctx, mcp.Elicitation{
				Server: server, Mode: "form", Schema: json.RawMessage(`{"type":"object","properties":{}}`),
				Message: "May this server use the model? It writes the prompts and receives the answers, and you pay for both.",
			})
			return err == nil && answer.Action == "accept", err
		}
	}
	return allowed
}

// sample asks the model for a server. It sees nothing of the conversation.
func (s *Servers) sample(ctx context.Context, r mcp.SamplingRequest) (mcp.SamplingResult, error) {
	history, err := sampled(r.Messages)
	if err != nil {
		return mcp.SamplingResult{}, err
	}
	tools, err := sampledTools(r.Tools)
	if err != nil {
		return mcp.SamplingResult{}, err
	}
	client, name := s.opts.Model()
	request := &model.Request{Model: name, Messages: history, Tools: tools, MaxTokens: r.MaxTokens}
	if r.System != "" {
		request.System = []model.System{{Text: r.System}}
	}
	var blocks []model.Block
	var stop model.Stop
	for ev, err := range client.Stream(ctx, request) {
		switch ev := ev.(type) {
		case model.Start:
			blocks = nil // what came of an answer that broke off does not count
		case model.BlockStop:
			blocks = append(blocks, ev.Block)
		case model.Stop:
			stop = ev
		}
		if err != nil {
			return mcp.SamplingResult{}, err
		}
	}
	s.opts.Link.Spend(name, stop.Usage)
	content, err := forServer(blocks)
	return mcp.SamplingResult{Model: name, StopReason: cmp.Or(stopReasons[stop.Reason], string(stop.Reason)), Content: content}, err
}

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
