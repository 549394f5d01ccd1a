package headless

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// block is a piece of a message in its form on the wire, which is that of the Messages API
// on both sides.
func block(b model.Block) wire.Block {
	if b.Type == model.ToolUse && len(b.Input) == 0 { // it begins: its input is to come
		b.Input = json.RawMessage("{}")
	}
	if b.Type == model.ToolUse && !plainjson.Valid(b.Input) {
		b.Input = unparsed(b.Input)
	}
	raw, err := b.AppendJSON(nil)
	if err != nil {
		return wire.Text("[" + err.Error() + "]")
	}
	// A program that embeds haft gets the message itself, so its fields are set as well.
	w := wire.Block{Type: string(b.Type), Raw: raw}
	plain := len(b.Content) == 1 && b.Content[0].Type == tool.TextBlock
	switch {
	case b.Raw == nil && b.Type == model.Text:
		w.Text = b.Text
	case b.Raw == nil && b.Type == model.Thinking:
		w.Thinking = b.Text
	case b.Raw == nil && b.Type == model.ToolUse:
		w.ID, w.Name, w.Input = b.ID, b.Name, b.Input
	case b.Raw == nil && b.Type == model.ToolResult && plain:
		w.ToolUseID, w.Content = b.UseID, &wire.Content{Text: b.Content[0].Text}
		if b.IsError {
			w.IsError = &b.IsError
		}
	default: // what is rare is read again
		if err := json.Unmarshal(raw, &w); err != nil {
			return wire.Text("[" + err.Error() + "]")
		}
	}
	return w
}

// unparsed carries an input that is not JSON.
func unparsed(raw []byte) json.RawMessage {
	v, _ := json.Marshal(map[string]any{"__unparsedToolInput": map[string]any{"raw": string(raw), "len": len(raw)}})
	return v
}

func usage(u model.Usage) wire.Usage {
	return wire.Usage{
		InputTokens: int(u.Input), OutputTokens: int(u.Output),
		CacheCreationInputTokens: int(u.CacheWrite), CacheReadInputTokens: int(u.CacheRead),
		ServerToolUse: mustJSON(map[string]int64{"web_search_requests": u.Searches}),
	}
}

// apiEvents are the equivalent events of the Messages API.
func apiEvents(ev model.Event) []json.RawMessage {
	type object = map[string]any
	switch ev := ev.(type) {
	case model.Start:
		return events(object{"type": "message_start", "message": object{
			"id": ev.ID, "type": "message", "role": "assistant", "model": ev.Model, "content": []any{},
			"stop_reason": nil, "stop_sequence": nil, "usage": ev.Usage,
		}})
	case model.BlockStart:
		return events(object{"type": "content_block_start", "index": ev.Index, "content_block": block(ev.Block)})
	case model.Delta:
		return events(object{"type": "content_block_delta", "index": ev.Index, "delta": object{"type": ev.Type, deltaField(ev.Type): ev.Text}})
	case model.BlockStop:
		return events(object{"type": "content_block_stop", "index": ev.Index})
	case model.Stop:
		return events(
			object{"type": "message_delta", "delta": object{"stop_reason": ev.Reason, "stop_sequence": orNull(ev.Sequence)}, "usage": ev.Usage},
			object{"type": "message_stop"},
		)
	}
	return nil
}

func deltaField(t model.DeltaType) string {
	switch t {
	case model.ThinkingDelta:
		return "thinking"
	case model.InputDelta:
		return "partial_json"
	case model.SignatureDelta:
		return "signature"
	}
	return "text"
}

func events(list ...map[string]any) []json.RawMessage {
	var out []json.RawMessage
	for _, e := range list {
		out = append(out, mustJSON(e))
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// mustJSON encodes plain values, which cannot fail.
func mustJSON(v any) json.RawMessage {
	raw, err := plainjson.Marshal(v)
	if err != nil {
		panic("headless: " + err.Error())
	}
	return raw
}
