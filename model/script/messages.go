package script

import "github.com/haftdev/haft/model"

// messagesDialect speaks the Messages API.
type messagesDialect struct{}

func typed(name string, data object) []event {
	data["type"] = name
	return []event{{name, data}}
}

func (d messagesDialect) start(a *answer) []event {
	u := *a.Usage
	u.Output = 1
	return typed("message_start", object{"message": d.message(a, []any{}, nil, u)})
}

func (messagesDialect) message(a *answer, content, stop any, u model.Usage) object {
	return object{
		"id": a.id, "type": "message", "role": "assistant", "model": a.model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": u,
	}
}

func (messagesDialect) open(i int, b *Block) []event {
	var block any
	switch {
	case b.Tool != "":
		block = object{"type": "tool_use", "id": b.ID, "name": b.Tool, "input": object{}}
	case b.Thinking != "":
		block = object{"type": "thinking", "thinking": "", "signature": ""}
	case b.Whole != nil:
		block = b.Whole
	default:
		block = object{"type": "text", "text": ""}
	}
	return typed("content_block_start", object{"index": i, "content_block": block})
}

func (messagesDialect) delta(i int, b *Block, piece string) []event {
	delta := object{"type": "text_delta", "text": piece}
	switch {
	case b.Tool != "":
		delta = object{"type": "input_json_delta", "partial_json": piece}
	case b.Thinking != "":
		delta = object{"type": "thinking_delta", "thinking": piece}
	}
	return typed("content_block_delta", object{"index": i, "delta": delta})
}

// signature seals the thoughts of a model that has none.
const signature = "c2NyaXB0ZWQ="

func (messagesDialect) close(i int, b *Block) []event {
	stop := typed("content_block_stop", object{"index": i})
	if b.Tool != "" || b.Thinking == "" {
		return stop
	}
	seal := object{"index": i, "delta": object{"type": "signature_delta", "signature": signature}}
	return append(typed("content_block_delta", seal), stop...)
}

func (messagesDialect) stop(a *answer) []event {
	end := object{"delta": object{"stop_reason": a.Stop, "stop_sequence": nil}, "usage": a.Usage}
	return append(typed("message_delta", end), typed("message_stop", object{})...)
}

func (messagesDialect) failure(f *Fault) []event { return typed("error", errorBody(Messages, f)) }

func (d messagesDialect) whole(a *answer) any {
	content := []any{}
	for i := range a.Blocks {
		b := &a.Blocks[i]
		switch {
		case b.Tool != "":
			content = append(content, object{"type": "tool_use", "id": b.ID, "name": b.Tool, "input": b.input()})
		case b.Thinking != "":
			content = append(content, object{"type": "thinking", "thinking": b.Thinking, "signature": signature})
		case b.Whole != nil:
			content = append(content, b.Whole)
		default:
			content = append(content, object{"type": "text", "text": b.Text})
		}
	}
	return d.message(a, content, a.Stop, *a.Usage)
}
