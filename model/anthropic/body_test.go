package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// sent is the body of a request.
func sent(t testing.TB, req *model.Request) string {
	t.Helper()
	b, _, err := newBody(req, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(b.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(raw)) != b.Len() {
		t.Fatalf("the length is said to be %d and is %d", b.Len(), len(raw))
	}
	if !json.Valid(raw) {
		t.Fatalf("the body is not JSON:\n%s", raw)
	}
	return string(raw)
}

// turn appends an answer that calls n tools, and their results.
func turn(t testing.TB, h *model.History, n int) {
	t.Helper()
	answer := model.Message{Role: model.Assistant, Content: []model.Block{{Type: model.Thinking, Text: "hm <b>", Signature: "s"}}}
	results := model.Message{Role: model.User}
	for i := range n {
		id := fmt.Sprintf("toolu_%d_%d", h.Len(), i)
		answer.Content = append(answer.Content, model.Block{Type: model.ToolUse, ID: id, Name: "Read", Input: json.RawMessage(`{"p":"}]}"}`)})
		results.Content = append(results.Content, model.Block{Type: model.ToolResult, UseID: id, Content: []tool.Block{{Type: tool.TextBlock, Text: "ok }]}"}}})
	}
	if err := h.Append(answer, results); err != nil {
		t.Fatal(err)
	}
}

func TestEachRequestBeginsWithTheOneBefore(t *testing.T) {
	req := question(t, "hi")
	req.System = []model.System{{Text: "who"}, {Text: "how", Cache: true}}
	req.Tools = json.RawMessage(`[{"name":"Read"}]`)
	req.Session = "s"
	req.Effort = "high"
	unmarked := func(s string) string { return strings.ReplaceAll(s, string(mark), "") }
	before := sent(t, req)
	for i := range 30 {
		turn(t, req.Messages, i%4+1)
		if i%5 == 0 {
			req.Messages.AppendJSON(json.RawMessage(`{"role":"user","content":"a string"}`))
		}
		now := sent(t, req)
		prefix := strings.TrimSuffix(unmarked(before), "]}")
		if !strings.HasPrefix(unmarked(now), prefix) {
			t.Fatalf("turn %d: the request does not begin with the one before:\n%s\n%s", i, now, before)
		}
		if n := strings.Count(now, `"cache_control"`); n > maxMarks {
			t.Fatalf("turn %d: %d marks", i, n)
		}
		before = now
	}
}

func TestTheMarkOfTheLastRequestIsSentAgain(t *testing.T) {
	req := question(t, "hi")
	first := sent(t, req)
	turn(t, req.Messages, 30)
	second := sent(t, req)
	if !strings.HasPrefix(second, strings.TrimSuffix(first, "]}")) {
		t.Errorf("the second request does not begin with the first, mark included:\n%s\n%s", first, second)
	}
	if !strings.HasSuffix(second, `"content":"ok }]}","cache_control":{"type":"ephemeral"}}]}]}`) {
		t.Errorf("the last block has no mark: %s", second[len(second)-100:])
	}
}

func TestMarks(t *testing.T) {
	for _, c := range []struct {
		name    string
		system  []model.System
		message string
		want    string // the body from the system prompt on
	}{
		{"the last block is marked", nil, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
			`,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]}`},
		{"spaces do not matter", nil, `{ "role": "user", "content": [ {"type":"text","text":"a"} ] }`,
			`,"messages":[{ "role": "user", "content": [ {"type":"text","text":"a","cache_control":{"type":"ephemeral"}} ] }]}`},
		{"a string has no block", nil, `{"role":"user","content":"a"}`, `,"messages":[{"role":"user","content":"a"}]}`},
		{"nothing has no block", nil, `{"role":"user","content":[]}`, `,"messages":[{"role":"user","content":[]}]}`},
		{"a mark is not set twice", nil, `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`,
			`,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}`},
		{"thoughts cannot be marked", nil, `{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"b"}]}`,
			`,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"b"}]}]}`},
		{"marked parts of the system prompt", []model.System{{Text: "a"}, {Text: "<b>", Cache: true}}, `{"role":"user","content":"a"}`,
			`,"system":[{"type":"text","text":"a"},{"type":"text","text":"<b>","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"a"}]}`},
		{"too many marks leave the last", []model.System{{Text: "1", Cache: true}, {Cache: true}, {Text: "2", Cache: true}, {Text: "3", Cache: true}, {Text: "4", Cache: true}},
			`{"role":"user","content":[{"type":"text","text":"a"}]}`,
			`,"system":[{"type":"text","text":"1"},{"type":"text","text":"2","cache_control":{"type":"ephemeral"}},{"type":"text","text":"3","cache_control":{"type":"ephemeral"}},{"type":"text","text":"4","cache_control":{"type":"ephemeral"}}],` +
				`"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &model.History{}
			h.AppendJSON(json.RawMessage(c.message))
			got := sent(t, &model.Request{Model: "x", Messages: h, System: c.system})
			_, got, _ = strings.Cut(got, `"stream":true`)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatEachFamilyIsAsked(t *testing.T) {
	for _, c := range []struct {
		name  string
		req   model.Request
		head  string
		betas []string
	}{
		{"the newest think as they need", model.Request{Model: "claude-opus-5-5"},
			`{"model":"claude-opus-5-5","max_tokens":128000,"stream":true,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`,
			[]string{betaBinding}},
		{"effort and display are passed on", model.Request{Model: "claude-opus-4-8", Effort: "low", Thinking: &model.ThinkingOptions{Mode: "adaptive", Display: "updates"}},
			`{"model":"claude-opus-4-8","max_tokens":128000,"stream":true,"thinking":{"type":"adaptive","display":"updates"},"output_config":{"effort":"low"}`,
			[]string{betaEffort, betaUpdates}},
		{"thinking is turned off where it can be", model.Request{Model: "claude-sonnet-5", Thinking: &model.ThinkingOptions{Mode: "disabled"}},
			`{"model":"claude-sonnet-5","max_tokens":128000,"stream":true,"thinking":{"type":"disabled"}`, nil},
		{"and not where it cannot", model.Request{Model: "claude-fable-5-1", Thinking: &model.ThinkingOptions{Mode: "disabled"}},
			`{"model":"claude-fable-5-1","max_tokens":128000,"stream":true`, nil},
		{"older ones have a budget", model.Request{Model: "claude-sonnet-4-5"},
			`{"model":"claude-sonnet-4-5","max_tokens":64000,"stream":true,"thinking":{"type":"enabled","budget_tokens":31999}`, []string{betaInterleaved}},
		{"within the length of the answer", model.Request{Model: "claude-haiku-4-5", MaxTokens: 2000, Thinking: &model.ThinkingOptions{Mode: "enabled", Budget: 5000}},
			`{"model":"claude-haiku-4-5","max_tokens":2000,"stream":true,"thinking":{"type":"enabled","budget_tokens":1999}`, []string{betaInterleaved}},
		{"no effort where there is none", model.Request{Model: "claude-sonnet-4-5", Effort: "high", MaxTokens: 100},
			`{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true`, nil},
		{"the long context must be asked for", model.Request{Model: "claude-sonnet-4-5[1m]", Thinking: &model.ThinkingOptions{Mode: "disabled"}},
			`{"model":"claude-sonnet-4-5","max_tokens":64000,"stream":true`, []string{betaLongContext}},
		{"nothing is assumed of others", model.Request{Model: "glm-5", Effort: "high"}, `{"model":"glm-5","max_tokens":32000,"stream":true`, nil},
		{"betas, session and deferred tools", model.Request{Model: "glm-5", Betas: []string{"x"}, Session: "s", Tools: json.RawMessage(`[{"name":"A","defer_loading":true}]`)},
			`{"model":"glm-5","max_tokens":32000,"stream":true,"metadata":{"user_id":"s"},"tools":[{"name":"A","defer_loading":true}]`, []string{"x", betaToolSearch}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.req.Messages = &model.History{}
			head, _, _ := strings.Cut(sent(t, &c.req), `,"messages":[`)
			_, sent := newHead(&c.req, nil)
			betas := sent.betas
			if diff := cmp.Diff(c.head, head); diff != "" {
				t.Errorf("head (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.betas, betas); diff != "" {
				t.Errorf("betas (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheBodyCanBeReadInAnyPieces(t *testing.T) {
	req := question(t, "hi")
	turn(t, req.Messages, 3)
	b, _, err := newBody(req, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(b.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(b.Reader(), want); err != nil {
		t.Error(err)
	}
}

// A turn must not cost what the conversation is long, apart from its bytes.
func BenchmarkBody(b *testing.B) {
	for _, turns := range []int{10, 1000} {
		b.Run(fmt.Sprintf("%d turns", turns), func(b *testing.B) {
			req := question(b, "hi")
			for range turns {
				turn(b, req.Messages, 2)
			}
			b.SetBytes(int64(req.Messages.Size()))
			b.ReportAllocs()
			for b.Loop() {
				body, _, err := newBody(req, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, body.Reader()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestHistoryIsNotCopied(t *testing.T) {
	req := question(t, "hi")
	req.Messages.AppendJSON(json.RawMessage(`{"role":"assistant","content":[]}`))
	req.Messages.AppendJSON(append(append([]byte(`{"role":"user","content":[{"type":"text","text":"`), bytes.Repeat([]byte("x"), 1<<20)...), `"}]}`...))
	got := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, _, err := newBody(req, nil); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if got > 64<<10 {
		t.Errorf("a request with 1 MB of history allocates %d bytes", got)
	}
}

func FuzzMark(f *testing.F) {
	for _, seed := range []string{
		`{"role":"user","content":[{"type":"text","text":"}]}"}]}`, `{"content":[{}],"role":"user"}`, `{"role":"user","content":"}]}"}`,
		`{"role":"user","content":[{"type":"x","content":[{"a":[{"b":1}]}]}]}`, ` {"role":"user","content":[ {"a":1} ] } `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		at := markAt(message)
		var before map[string]any
		if at < 0 || json.Unmarshal(message, &before) != nil {
			return
		}
		marked := string(message[:at]) + string(mark) + string(message[at:])
		var after map[string]any
		if err := json.Unmarshal([]byte(marked), &after); err != nil {
			t.Fatalf("%s became %s: %v", message, marked, err)
		}
		if n := strings.Count(marked, string(mark)); n != 1 {
			t.Errorf("%d marks", n)
		}
	})
}
