//go:build unix

package haft_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A scripted is a model that says what a test wrote down, over the Messages API.
// Turn k answers the request that holds k assistant messages; past the end it
// says done.
type scripted struct {
	*httptest.Server
	turns [][]object

	mu       sync.Mutex
	requests []json.RawMessage
}

func say(text string) object { return object{"type": "text", "text": text} }

func use(id, tool string, input any) object {
	return object{"type": "tool_use", "id": id, "name": tool, "input": input}
}

func script(t *testing.T, turns ...[]object) *scripted {
	t.Helper()
	s := &scripted{turns: turns}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/v1/messages":
	case "/v1/messages/count_tokens":
		io.WriteString(w, `{"input_tokens":1000}`)
		return
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"no such route"}}`)
		return
	}
	var q struct {
		Model    string
		Messages []struct{ Role string }
		Tools    []json.RawMessage
		Stream   bool
	}
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, body)
	s.mu.Unlock()
	turn := 0
	for _, m := range q.Messages {
		if m.Role == "assistant" {
			turn++
		}
	}
	blocks := []object{say("done")}
	if len(q.Tools) > 0 && turn < len(s.turns) {
		blocks = s.turns[turn]
	}
	if q.Stream {
		stream(w, q.Model, turn, blocks)
		return
	}
	json.NewEncoder(w).Encode(message(q.Model, turn, blocks, "end_turn"))
}

func message(model string, turn int, blocks []object, stop any) object {
	return object{"id": fmt.Sprintf("msg_%d", turn), "type": "message", "role": "assistant", "model": model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil,
		"usage": object{"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}
}

// stream writes an answer as server-sent events.
func stream(w http.ResponseWriter, model string, turn int, blocks []object) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, fields object) {
		fields["type"] = kind
		raw, _ := json.Marshal(fields)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
		w.(http.Flusher).Flush()
	}
	send("message_start", object{"message": message(model, turn, []object{}, nil)})
	stop := "end_turn"
	for i, b := range blocks {
		var start, delta object
		if b["type"] == "tool_use" {
			stop = "tool_use"
			raw, _ := json.Marshal(b["input"])
			start = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": string(raw)}
		} else {
			start = object{"type": "text", "text": ""}
			delta = object{"type": "text_delta", "text": b["text"]}
		}
		send("content_block_start", object{"index": i, "content_block": start})
		send("content_block_delta", object{"index": i, "delta": delta})
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	send("message_stop", object{})
}
