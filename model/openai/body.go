package openai

import (
	"bytes"
	"strings"

	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/internal/sse"
)

// head has the members of a request before its messages.
type head struct {
	Model               string         `json:"model"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Effort              string         `json:"reasoning_effort,omitempty"`
	ToolChoice          string         `json:"tool_choice,omitempty"`
}

type streamOptions struct {
	Usage bool `json:"include_usage"`
}

// body returns the request as it is sent. As with the other API, the messages
// come last, so that each request begins with the bytes of the one before it:
// local servers keep what they have computed for a prefix.
func (c *Client) body(req *model.Request, plain bool) (*sse.Body, error) {
	translated, tools, err := c.histories.of(req)
	if err != nil {
		return nil, err
	}
	h := c.head(req, plain)
	if tools == nil {
		h.ToolChoice = "" // there is nothing to choose from
	}
	raw, err := plainjson.Marshal(h)
	if err != nil {
		return nil, err
	}
	b := sse.NewBody(2*len(translated) + 8)
	b.Add(bytes.TrimSuffix(raw, []byte("}")))
	if tools != nil {
		b.Add([]byte(`,"tools":`))
		b.Add(tools)
	}
	b.Add([]byte(`,"messages":[`))
	comma, between := []byte(","), false
	add := func(piece []byte) {
		if len(piece) == 0 {
			return
		}
		if between {
			b.Add(comma)
		}
		b.Add(piece)
		between = true
	}
	system, err := systemMessage(req.System)
	if err != nil {
		return nil, err
	}
	add(system)
	for _, piece := range translated {
		add(piece)
	}
	b.Add([]byte("]}"))
	return b, nil
}

func (c *Client) head(req *model.Request, plain bool) *head {
	h := &head{Model: req.Model, Stream: true}
	if plain {
		return h
	}
	h.StreamOptions = &streamOptions{Usage: true}
	h.Effort = req.Effort
	if strings.Contains(c.url, "//api.openai.com/") {
		h.MaxCompletionTokens = req.MaxTokens
	} else {
		h.MaxTokens = req.MaxTokens
	}
	if req.TextOnly {
		h.ToolChoice = "none"
	}
	return h
}

func systemMessage(system []model.System) ([]byte, error) {
	var parts []string
	for _, s := range system {
		if s.Text != "" {
			parts = append(parts, s.Text)
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return plainjson.Marshal(textMessage{"system", strings.Join(parts, "\n\n")})
}
