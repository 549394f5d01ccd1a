package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/models/streamtest"
	"github.com/haftdev/haft/model"
)

// heard is what an answer comes to that a server sends in pieces of n bytes.
func heard(t *testing.T, text string, n int) string {
	t.Helper()
	var stream strings.Builder
	for len(text) > 0 {
		n := min(n, len(text))
		raw, err := json.Marshal(text[:n])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&stream, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", raw)
		text = text[n:]
	}
	stream.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return blocks(t, stream.String())
}

func blocks(t *testing.T, stream string) string {
	t.Helper()
	req := question(t)
	req.Tools = []byte(`[{"name":"Read","input_schema":{}}]`)
	events, err := streamtest.Collect(playing("text/event-stream", func() io.Reader { return strings.NewReader(stream) }), req)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, ev := range events {
		switch ev := ev.(type) {
		case model.BlockStop:
			all = append(all, fmt.Sprintf("%s %q", ev.Block.Type, ev.Block.Text+ev.Block.Name+string(ev.Block.Input)))
		case model.Stop:
			all = append(all, string(ev.Reason))
		}
	}
	return strings.Join(all, ", ")
}

// TestWhatLocalModelsWrite reads what the templates of local models put into text, in pieces
// of every size.
func TestWhatLocalModelsWrite(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a thought", "<think>\nLet me see.\n</think>\n\nYes.", `thinking "Let me see.\n", text "Yes.", end_turn`},
		{"only a thought", "<think>hm", `thinking "hm", end_turn`},
		{"a thought that is quoted", "The tag <think> begins one.", `text "The tag <think> begins one.", end_turn`},
		{"less than a tag", "<thi", `text "<thi", end_turn`},
		{"a call", "<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"file_path\": \"/a\"}}\n</tool_call>", `tool_use "Read{\"file_path\": \"/a\"}", tool_use`},
		{"a call after text", "I read it.\n<tool_call>{\"name\":\"Read\",\"parameters\":{}}</tool_call>\n", `text "I read it.\n", tool_use "Read{}", tool_use`},
		{"two calls", "<tool_call>{\"name\":\"Read\",\"arguments\":{\"a\":1}}</tool_call>\n<tool_call>{\"name\":\"Read\",\"arguments\":\"{\\\"a\\\":2}\"}</tool_call>", `tool_use "Read{\"a\":1}", tool_use "Read{\"a\":2}", tool_use`},
		{"a thought and a call", "<think>x</think>\n<tool_call>{\"name\":\"Read\",\"arguments\":{}}</tool_call>", `thinking "x", tool_use "Read{}", tool_use`},
		{"a call that is quoted", "Write <tool_call>{\"name\":\"Read\"}</tool_call> so.", `text "Write <tool_call>{\"name\":\"Read\"}</tool_call> so.", end_turn`},
		{"a call in code", "```\n<tool_call>{\"name\":\"Read\"}</tool_call>\n```", "text \"```\\n<tool_call>{\\\"name\\\":\\\"Read\\\"}</tool_call>\\n```\", end_turn"},
		{"a tool that nobody gave", "<tool_call>{\"name\":\"Other\",\"arguments\":{}}</tool_call>", `text "<tool_call>{\"name\":\"Other\",\"arguments\":{}}</tool_call>", end_turn`},
		{"a call that is cut off", "<tool_call>{\"name\":\"Re", `text "<tool_call>{\"name\":\"Re", end_turn`},
		{"no JSON", "<tool_call>Read(/a)</tool_call> hm", `text "<tool_call>Read(/a)</tool_call> hm", end_turn`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for n := 1; n <= len(test.text); n++ {
				if got := heard(t, test.text, n); got != test.want {
					t.Fatalf("in pieces of %d bytes: got %s, want %s", n, got, test.want)
				}
			}
		})
	}
}

func TestTheOlderFormOfACall(t *testing.T) {
	stream := `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"function_call":{"name":"Read","arguments":""}}}]}

data: {"choices":[{"index":0,"delta":{"function_call":{"arguments":"{\"file_"}}}]}

data: {"choices":[{"index":0,"delta":{"function_call":{"arguments":"path\":\"/a\"}"}}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}

data: [DONE]

`
	if got := blocks(t, stream); got != `tool_use "Read{\"file_path\":\"/a\"}", tool_use` {
		t.Errorf("got %s", got)
	}
}
