package script

import "github.com/haftdev/haft/model"

// chatDialect speaks OpenAI's chat completions.
type chatDialect struct{ id, model string }

func (d chatDialect) chunk(delta object, reason any) []event {
	return []event{{data: object{
		"id": d.id, "object": "chat.completion.chunk", "created": 0, "model": d.model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": reason}},
	}}}
}

func (d chatDialect) start(*answer) []event {
	return d.chunk(object{"role": "assistant", "content": ""}, nil)
}

func (d chatDialect) open(i int, b *Block) []event {
	if b.Tool == "" {
		return nil
	}
	call := object{"index": i, "id": b.ID, "type": "function", "function": object{"name": b.Tool, "arguments": ""}}
	return d.chunk(object{"tool_calls": []any{call}}, nil)
}

func (d chatDialect) delta(i int, b *Block, piece string) []event {
	switch {
	case b.Tool != "":
		call := object{"index": i, "function": object{"arguments": piece}}
		return d.chunk(object{"tool_calls": []any{call}}, nil)
	case b.Thinking != "":
		return d.chunk(object{"reasoning_content": piece}, nil)
	}
	return d.chunk(object{"content": piece}, nil)
}

func (chatDialect) close(int, *Block) []event { return nil }

func (d chatDialect) stop(a *answer) []event {
	events := d.chunk(object{}, finish(a.Stop))
	if a.req.usage {
		events = append(events, event{data: object{
			"id": d.id, "object": "chat.completion.chunk", "created": 0, "model": d.model,
			"choices": []any{}, "usage": chatUsage(a.Usage),
		}})
	}
	return append(events, event{data: "[DONE]"})
}

func (chatDialect) failure(f *Fault) []event { return []event{{data: errorBody(Chat, f)}} }

func (d chatDialect) whole(a *answer) any {
	message := object{"role": "assistant", "content": nil}
	said, thought, calls := "", "", []any{}
	for i := range a.Blocks {
		b := &a.Blocks[i]
		switch {
		case b.Tool != "":
			calls = append(calls, object{"id": b.ID, "type": "function", "function": object{"name": b.Tool, "arguments": b.said()}})
		case b.Thinking != "":
			thought += b.Thinking
		default:
			said += b.Text
		}
	}
	if said != "" {
		message["content"] = said
	}
	if thought != "" {
		message["reasoning_content"] = thought
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return object{
		"id": d.id, "object": "chat.completion", "created": 0, "model": a.model, "usage": chatUsage(a.Usage),
		"choices": []any{object{"index": 0, "message": message, "finish_reason": finish(a.Stop)}},
	}
}

func chatUsage(u *model.Usage) object {
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return object{
		"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead},
	}
}

func finish(reason model.StopReason) string {
	switch reason {
	case model.StopToolUse:
		return "tool_calls"
	case model.MaxTokens, model.ContextExceeded:
		return "length"
	case model.Refusal:
		return "content_filter"
	}
	return "stop"
}
