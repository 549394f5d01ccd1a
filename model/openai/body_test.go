package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// sent is the body of a request.
func sent(t testing.TB, c *Client, req *model.Request) string {
	t.Helper()
	b, err := c.body(req, false)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(b.Reader())
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(raw)) != b.Len() || !json.Valid(raw) {
		t.Fatalf("%d bytes, said to be %d:\n%s", len(raw), b.Len(), raw)
	}
	return string(raw)
}

func TestTranslation(t *testing.T) {
	png := tool.Block{Type: tool.ImageBlock, MediaType: "image/png", Data: []byte("AB")}
	pdf := tool.Block{Type: tool.DocumentBlock, MediaType: "application/pdf", Data: []byte("AB")}
	ok := []tool.Block{{Type: tool.TextBlock, Text: "ok"}}
	for _, c := range []struct {
		name    string
		message model.Message
		want    string
	}{
		{"text", model.Message{Role: model.User, Content: []model.Block{model.TextOf("a <b>"), model.TextOf("c")}},
			`{"role":"user","content":"a <b>\n\nc"}`},
		{"a picture", model.Message{Role: model.User, Content: []model.Block{model.TextOf("see"), model.ContentOf(png)}},
			`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUI="}}]}`},
		{"a document", model.Message{Role: model.User, Content: []model.Block{model.ContentOf(pdf)}},
			`{"role":"user","content":[{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,QUI="}}]}`},
		{"calls", model.Message{Role: model.Assistant, Content: []model.Block{
			{Type: model.Thinking, Text: "hm", Signature: "s"}, model.TextOf("I look."),
			{Type: model.ToolUse, ID: "c1", Name: "Read", Input: json.RawMessage(`{"p":"<a>"}`)}, {Type: model.ToolUse, ID: "c2", Name: "Noop"},
		}}, `{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"p\":\"<a>\"}"}},{"id":"c2","type":"function","function":{"name":"Noop","arguments":"{}"}}]}`},
		{"calls alone", model.Message{Role: model.Assistant, Content: []model.Block{{Type: model.ToolUse, ID: "c1", Name: "A"}}},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"A","arguments":"{}"}}]}`},
		{"only thoughts", model.Message{Role: model.Assistant, Content: []model.Block{{Type: model.Thinking, Text: "hm"}}},
			`{"role":"assistant","content":""}`},
		{"results come before what was said", model.Message{Role: model.User, Content: []model.Block{
			model.TextOf("also"), {Type: model.ToolResult, UseID: "c1", Content: ok}, {Type: model.ToolResult, UseID: "c2", Content: ok, IsError: true},
		}}, `{"role":"tool","tool_call_id":"c1","content":"ok"},{"role":"tool","tool_call_id":"c2","content":"Error: ok"},{"role":"user","content":"also"}`},
		{"a picture in a result comes after all results", model.Message{Role: model.User, Content: []model.Block{
			{Type: model.ToolResult, UseID: "c1", Content: []tool.Block{png}}, {Type: model.ToolResult, UseID: "c2", Content: ok},
		}}, `{"role":"tool","tool_call_id":"c1","content":"[image, shown below]"},{"role":"tool","tool_call_id":"c2","content":"ok"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUI="}}]}`},
		{"a tool that was found", model.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: "c1", Content: []tool.Block{{Type: tool.ReferenceBlock, Text: "X"}}}}},
			`{"role":"tool","tool_call_id":"c1","content":"The tool X can now be called."}`},
		{"an empty result", model.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: "c1"}}},
			`{"role":"tool","tool_call_id":"c1","content":""}`},
		{"a word of the system", model.Message{Role: "system", Content: []model.Block{model.TextOf("x")}}, `{"role":"system","content":"x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &model.History{}
			if err := h.Append(c.message); err != nil {
				t.Fatal(err)
			}
			got, err := translate(h.JSON(0))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsAsked(t *testing.T) {
	tools := json.RawMessage(`[{"name":"A","description":"d <x>","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}]`)
	said := `"tools":[{"type":"function","function":{"name":"A","description":"d <x>","parameters":{"type":"object"}}}]`
	local := New(&Options{BaseURL: "http://localhost:11434/v1/"})
	req := question(t)
	req.Tools, req.MaxTokens, req.Effort, req.TextOnly = tools, 100, "low", true
	req.System = []model.System{{Text: "who", Cache: true}, {}, {Text: "how"}}
	end := `,"messages":[{"role":"system","content":"who\n\nhow"},{"role":"user","content":"hi"}]}`
	for name, c := range map[string]struct {
		client *Client
		want   string
	}{
		"a local server": {local, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"reasoning_effort":"low","tool_choice":"none",` + said + end},
		"OpenAI":         {New(nil), `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":100,"reasoning_effort":"low","tool_choice":"none",` + said + end},
	} {
		if diff := cmp.Diff(c.want, sent(t, c.client, req)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if b, err := local.body(req, true); err != nil || b.Len() >= int64(len(sent(t, local, req))) {
		t.Errorf("the plain form is no shorter: %v", err)
	}
}

func TestEachRequestBeginsWithTheOneBefore(t *testing.T) {
	c, req := New(nil), question(t)
	req.Tools = json.RawMessage(`[{"name":"A","input_schema":{}}]`)
	before := sent(t, c, req)
	for i := range 10 {
		grow(t, req.Messages, i)
		now := sent(t, c, req)
		if !strings.HasPrefix(now, strings.TrimSuffix(before, "]}")) {
			t.Fatalf("turn %d does not begin with the one before:\n%s\n%s", i, now, before)
		}
		before = now
	}
}

func grow(t testing.TB, h *model.History, i int) {
	t.Helper()
	id := fmt.Sprintf("c%d", i)
	if err := h.Append(
		model.Message{Role: model.Assistant, Content: []model.Block{{Type: model.ToolUse, ID: id, Name: "A", Input: json.RawMessage(`{}`)}}},
		model.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: id, Content: []tool.Block{{Type: tool.TextBlock, Text: "ok"}}}}},
	); err != nil {
		t.Fatal(err)
	}
}

func TestEachMessageIsTranslatedOnce(t *testing.T) {
	c, req := New(nil), question(t)
	for i := range 5 {
		grow(t, req.Messages, i)
	}
	first, _, err := c.histories.of(req)
	if err != nil {
		t.Fatal(err)
	}
	grow(t, req.Messages, 5)
	second, _, err := c.histories.of(req)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first {
		if &first[i][0] != &second[i][0] {
			t.Errorf("message %d was translated twice", i)
		}
	}
	if len(second) != 13 {
		t.Errorf("%d messages", len(second))
	}
}

func TestTranslationsGoWithTheirHistories(t *testing.T) {
	c := New(nil)
	for range 100 {
		_ = sent(t, c, question(t))
	}
	deadline := time.Now().Add(5 * time.Second)
	for {
		runtime.GC()
		c.histories.mu.Lock()
		n := len(c.histories.byID)
		c.histories.mu.Unlock()
		if n < 10 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d histories are remembered", n)
		}
	}
}

func BenchmarkBody(b *testing.B) {
	for _, turns := range []int{10, 1000} {
		b.Run(fmt.Sprintf("%d turns", turns), func(b *testing.B) {
			c, req := New(nil), question(b)
			for i := range turns {
				grow(b, req.Messages, i)
			}
			b.ReportAllocs()
			for b.Loop() {
				body, err := c.body(req, false)
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

// Whoever asks may keep the history within something else, or in a variable of
// its package.
func TestHistoriesAnywhere(t *testing.T) {
	c := New(nil)
	resident = model.History{}
	holder := &struct {
		name    string
		history model.History
	}{name: "x"}
	for _, h := range []*model.History{&holder.history, &resident} {
		for i := range 3 {
			grow(t, h, i)
			if got := sent(t, c, &model.Request{Model: "m", Messages: h}); strings.Count(got, `"role":"tool"`) != i+1 {
				t.Errorf("turn %d: %s", i, got)
			}
		}
		*h = *h.Prefix(2) // as after a change of mind
		if got := sent(t, c, &model.Request{Model: "m", Messages: h}); strings.Count(got, `"role":"tool"`) != 1 {
			t.Errorf("after taking back: %s", got)
		}
		grow(t, h, 9)
		if got := sent(t, c, &model.Request{Model: "m", Messages: h}); !strings.Contains(got, `"c9"`) || strings.Contains(got, `"c1"`) {
			t.Errorf("after going on: %s", got)
		}
	}
	runtime.KeepAlive(holder)
}

var resident model.History
