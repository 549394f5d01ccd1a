package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
)

// A message is what a client makes of a stream.
type message struct {
	ID, Model, Stop, Sequence string
	Usage                     model.Usage
	Content                   []any
}

// serve answers every request with the same stream.
func serve(tb testing.TB, raw []byte) string {
	tb.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(raw)
	}))
	tb.Cleanup(srv.Close)
	return srv.URL
}

func ours(m model.Model, req *model.Request) (*message, error) {
	var got message
	for ev, err := range m.Stream(context.Background(), req) {
		if err != nil {
			return nil, err
		}
		switch ev := ev.(type) {
		case model.Start:
			got.ID, got.Model = ev.ID, ev.Model
		case model.BlockStop:
			raw, err := json.Marshal(ev.Block)
			if err != nil {
				return nil, err
			}
			for len(got.Content) <= ev.Index {
				got.Content = append(got.Content, nil)
			}
			got.Content[ev.Index] = decoded(raw)
		case model.Stop:
			got.Stop, got.Sequence, got.Usage = string(ev.Reason), ev.Sequence, ev.Usage
		}
	}
	return &got, nil
}

func theirs(client *sdk.Client) (*message, error) {
	stream := client.Messages.NewStreaming(context.Background(), sdk.MessageNewParams{
		Model: "claude-opus-5-5", MaxTokens: 100,
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("hi"))},
	})
	var m sdk.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			return nil, err
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	got := &message{
		ID: m.ID, Model: string(m.Model), Stop: string(m.StopReason), Sequence: m.StopSequence,
		Usage: model.Usage{
			Input: m.Usage.InputTokens, Output: m.Usage.OutputTokens, CacheRead: m.Usage.CacheReadInputTokens,
			CacheWrite: m.Usage.CacheCreationInputTokens, Searches: m.Usage.ServerToolUse.WebSearchRequests,
		},
	}
	for _, b := range m.Content {
		got.Content = append(got.Content, decoded([]byte(b.RawJSON())))
	}
	return got, nil
}

// decoded is a block without what says nothing: members that are null, no
// citations, and an input that is no JSON, for which each has its own form.
func decoded(raw []byte) any {
	var block map[string]any
	if err := json.Unmarshal(raw, &block); err != nil {
		return string(raw)
	}
	for name, value := range block {
		if list, ok := value.([]any); value == nil || ok && name == "citations" && len(list) == 0 {
			delete(block, name)
		}
	}
	if input, ok := block["input"].(map[string]any); ok && input["__unparsedToolInput"] != nil {
		block["input"] = map[string]any{}
	}
	return block
}

func clients(url string) (*anthropic.Client, *sdk.Client) {
	client := sdk.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithMaxRetries(0))
	return anthropic.New(&anthropic.Options{BaseURL: url}), &client
}

func question(tb testing.TB) *model.Request {
	tb.Helper()
	h := &model.History{}
	if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("hi")}}); err != nil {
		tb.Fatal(err)
	}
	return &model.Request{Model: "claude-opus-5-5", MaxTokens: 100, Messages: h}
}

func TestBothAgreeOnEveryStream(t *testing.T) {
	files, err := filepath.Glob("../../testdata/streams/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			us, them := clients(serve(t, raw))
			got, err := ours(us, question(t))
			if err != nil {
				t.Fatalf("ours: %v", err)
			}
			want, err := theirs(them)
			if err != nil {
				t.Fatalf("the SDK: %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("message (-SDK +ours):\n%s", diff)
			}
		})
	}
}

// long is a stream of one text and one call, of n deltas together.
func long(n int) []byte {
	var b bytes.Buffer
	event := func(name, rest string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", name, name, rest)
	}
	event("message_start", `,"message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}`)
	event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	for i := range n / 2 {
		event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":" word %d of it"}`, i))
	}
	event("content_block_stop", `,"index":0`)
	event("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"t","name":"Write","input":{}}`)
	event("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"{\"content\":\""}`)
	for i := range n / 2 {
		event("content_block_delta", fmt.Sprintf(`,"index":1,"delta":{"type":"input_json_delta","partial_json":" word %d of it"}`, i))
	}
	event("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"\"}"}`)
	event("content_block_stop", `,"index":1`)
	event("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}`)
	event("message_stop", "")
	return b.Bytes()
}

func BenchmarkStream(b *testing.B) {
	for _, n := range []int{4_000, 40_000} {
		us, them := clients(serve(b, long(n)))
		b.Run(fmt.Sprintf("events=%d/ours", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ours(us, question(b)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("events=%d/sdk", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := theirs(them); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A turn is a question and a short answer on loopback.
func BenchmarkTurn(b *testing.B) {
	us, them := clients(serve(b, long(2)))
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ours(us, question(b)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := theirs(them); err != nil {
				b.Fatal(err)
			}
		}
	})
}
