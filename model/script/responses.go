package script

// responsesDialect speaks OpenAI's Responses API, as far as agents need it: text
// and calls. Thoughts are left out.
type responsesDialect struct{ id, model string }

func (d responsesDialect) response(status string, output []any, usage any) object {
	return object{"id": d.id, "object": "response", "model": d.model, "status": status, "output": output, "usage": usage}
}

func (d responsesDialect) start(*answer) []event {
	return typed("response.created", object{"response": d.response("in_progress", []any{}, nil)})
}

// item is a block as the API names it; said is what of it has been sent.
func (responsesDialect) item(b *Block, i int, status, said string) object {
	if b.Tool != "" {
		return object{"type": "function_call", "id": "fc_" + b.ID, "call_id": b.ID, "name": b.Tool, "arguments": said, "status": status}
	}
	content := []any{}
	if said != "" {
		content = append(content, object{"type": "output_text", "text": said, "annotations": []any{}})
	}
	return object{"type": "message", "id": "msg_" + string(rune('0'+i%10)), "role": "assistant", "status": status, "content": content}
}

func hidden(b *Block) bool { return b.Tool == "" && b.Text == "" }

func (d responsesDialect) open(i int, b *Block) []event {
	if hidden(b) {
		return nil
	}
	return typed("response.output_item.added", object{"output_index": i, "item": d.item(b, i, "in_progress", "")})
}

func (d responsesDialect) delta(i int, b *Block, piece string) []event {
	switch {
	case hidden(b):
		return nil
	case b.Tool != "":
		return typed("response.function_call_arguments.delta", object{"output_index": i, "item_id": "fc_" + b.ID, "delta": piece})
	}
	return typed("response.output_text.delta", object{"output_index": i, "content_index": 0, "item_id": d.item(b, i, "", "")["id"], "delta": piece})
}

func (d responsesDialect) close(i int, b *Block) []event {
	if hidden(b) {
		return nil
	}
	return typed("response.output_item.done", object{"output_index": i, "item": d.item(b, i, "completed", b.said())})
}

func (d responsesDialect) stop(a *answer) []event {
	return typed("response.completed", object{"response": d.whole(a)})
}

func (responsesDialect) failure(f *Fault) []event {
	return typed("response.failed", object{"response": object{"status": "failed", "error": errorBody(Chat, f)["error"]}})
}

func (d responsesDialect) whole(a *answer) any {
	output := []any{}
	for i := range a.Blocks {
		if b := &a.Blocks[i]; !hidden(b) {
			output = append(output, d.item(b, i, "completed", b.said()))
		}
	}
	in := a.Usage.Input + a.Usage.CacheRead + a.Usage.CacheWrite
	return d.response("completed", output, object{
		"input_tokens": in, "output_tokens": a.Usage.Output, "total_tokens": in + a.Usage.Output,
		"input_tokens_details": object{"cached_tokens": a.Usage.CacheRead}, "output_tokens_details": object{"reasoning_tokens": 0},
	})
}
