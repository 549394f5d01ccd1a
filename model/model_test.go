package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

func TestBlocksSurviveTheWire(t *testing.T) {
	for name, raw := range map[string]string{
		"text":                        `{"type":"text","text":"a<b & \u2028"}`,
		"empty text":                  `{"type":"text","text":""}`,
		"a citation":                  `{"type":"text","text":"x","citations":[{"type":"char_location","cited_text":"y"}]}`,
		"a cache mark":                `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`,
		"thinking":                    `{"type":"thinking","thinking":"hm","signature":"s=="}`,
		"redacted thinking":           `{"type":"redacted_thinking","data":"AAAA"}`,
		"a call":                      `{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}`,
		"a call with a caller":        `{"type":"tool_use","id":"t1","name":"Read","input":{},"caller":{"type":"direct"}}`,
		"a result":                    `{"type":"tool_result","tool_use_id":"t1","content":"ok"}`,
		"a result with an image":      `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}`,
		"a result that failed":        `{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}`,
		"a result of unknown content": `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"hologram"}]}`,
		"a server's tool":             `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"q"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var b model.Block
			if err := json.Unmarshal([]byte(raw), &b); err != nil {
				t.Fatal(err)
			}
			out, err := plainjson.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal([]byte(raw), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("block (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInputThatIsNoObjectCanBeSent(t *testing.T) {
	for input, want := range map[string]string{
		``:             `{}`,
		`{"a":`:        `{"__unparsedToolInput":{"raw":"{\"a\":","len":5}}`,
		`[1]`:          `{"__unparsedToolInput":{"raw":"[1]","len":3}}`,
		` {"a":"<b>"}`: `{"a":"<b>"}`,
	} {
		out, err := plainjson.Marshal(model.Block{Type: model.ToolUse, ID: "t", Name: "n", Input: json.RawMessage(input)})
		if err != nil {
			t.Fatalf("%q: %v", input, err)
		}
		if whole := `{"type":"tool_use","id":"t","name":"n","input":` + want + `}`; string(out) != whole {
			t.Errorf("%q is sent as\n%s, want\n%s", input, out, whole)
		}
	}
}

func TestHistoryKeepsBytes(t *testing.T) {
	var h model.History
	raw := json.RawMessage(`{"content":"as it came", "role":"user"}`)
	h.AppendJSON(raw)
	if err := h.Append(model.Message{Role: model.Assistant, Content: []model.Block{model.TextOf("a<b")}}, model.Message{Role: model.User, Content: []model.Block{
		{Type: model.ToolResult, UseID: "t", Content: []tool.Block{{Type: tool.TextBlock, Text: "ok"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		string(raw),
		`{"role":"assistant","content":[{"type":"text","text":"a<b"}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}`,
	}
	size := 0
	for i, w := range want {
		if got := string(h.JSON(i)); got != w {
			t.Errorf("message %d is %s, want %s", i, got, w)
		}
		size += len(w)
	}
	if h.Len() != 3 || h.Size() != size || h.Prefix(2).Len() != 2 {
		t.Errorf("length %d, size %d", h.Len(), h.Size())
	}
	m, err := h.Message(0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(model.Message{Role: model.User, Content: []model.Block{model.TextOf("as it came")}}, m); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestErrorsKnowWhetherTheyPass(t *testing.T) {
	no, yes := false, true
	for _, c := range []struct {
		e    model.Error
		want bool
	}{
		{model.Error{Kind: model.Overloaded}, true},
		{model.Error{Kind: model.Overloaded, ShouldRetry: &no}, false},
		{model.Error{Kind: model.InvalidRequest}, false},
		{model.Error{Kind: model.InvalidRequest, ShouldRetry: &yes}, true},
	} {
		if got := c.e.Temporary(); got != c.want {
			t.Errorf("%+v: %v", c.e, got)
		}
	}
}
