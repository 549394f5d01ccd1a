package openai

import (
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/model"
)

// A chunk is an event of a stream, or the document of a server that does not
// stream. It has what servers have been seen to send.
type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   int    `json:"index"`
	Delta   delta  `json:"delta"`
	Message *delta `json:"message"` // in a document
	Finish  string `json:"finish_reason"`
}

type delta struct {
	Content          text        `json:"content"`
	Refusal          text        `json:"refusal"`
	ReasoningContent text        `json:"reasoning_content"` // DeepSeek, vLLM, llama.cpp
	Reasoning        text        `json:"reasoning"`         // Ollama, OpenRouter
	Calls            []callDelta `json:"tool_calls"`
	FunctionCall     *called     `json:"function_call"` // older servers
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function called `json:"function"`
}

type called struct {
	Name      string `json:"name"`
	Arguments text   `json:"arguments"`
}

// text is a string, or the texts of a list of parts, or any other JSON as it
// stands: arguments are an object with some servers.
type text string

// UnmarshalJSON never fails on JSON.
func (t *text) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*t = text(s)
	case 'n':
		*t = ""
	case '[':
		var parts []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &parts) != nil {
			*t = text(raw)
			return nil
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		*t = text(b.String())
	default:
		*t = text(raw)
	}
	return nil
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    *struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (u *usage) tokens() model.Usage {
	t := model.Usage{Input: u.Prompt, Output: u.Completion}
	if u.Details != nil {
		t.CacheRead = min(u.Details.Cached, u.Prompt)
		t.Input -= t.CacheRead
	}
	return t
}
