package openai

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/models/sse"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// Options say where to ask and as whom.
type Options struct {
	// BaseURL is where the API is, with its version; "" means
	// https://api.openai.com/v1.
	BaseURL string
	// Key is sent as a bearer token; "" sends none, as local servers expect.
	Key string
	// Headers are sent with every request, and win over the client's own.
	Headers http.Header
	// UserAgent names the program; "" means haft.
	UserAgent string
	// Idle is how long an answer may pause in the middle; 0 means 2 minutes. FirstByte is how
	// long an answer may take to begin; 0 means 10 minutes, because a local model reads a long
	// prompt slowly.
	Idle, FirstByte time.Duration
	// HTTP makes the connections; nil means a client of its own.
	HTTP *http.Client
}

// FromEnv returns options from the environment variables OPENAI_BASE_URL and OPENAI_API_KEY.
func FromEnv(getenv func(string) string) *Options {
	return &Options{BaseURL: getenv("OPENAI_BASE_URL"), Key: getenv("OPENAI_API_KEY")}
}

// A Client is a [model.Model] behind the chat completions API.
type Client struct {
	opts      Options
	url       string
	header    http.Header
	histories translations
	plain     sync.Map // names of models whose servers take no more than the essentials
}

// New returns a client. It does not connect yet.
func New(opts *Options) *Client {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Idle = cmp.Or(o.Idle, 2*time.Minute)
	o.FirstByte = cmp.Or(o.FirstByte, 10*time.Minute)
	if o.HTTP == nil {
		o.HTTP = sse.Client()
	}
	base := strings.TrimRight(cmp.Or(o.BaseURL, "https://api.openai.com/v1"), "/")
	h := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
		"User-Agent":   {cmp.Or(o.UserAgent, "haft")},
	}
	if o.Key != "" {
		h.Set("Authorization", "Bearer "+o.Key)
	}
	for name, values := range o.Headers {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return &Client{opts: o, url: strings.TrimSuffix(base, "/chat/completions") + "/chat/completions", header: h}
}

// Stream implements [model.Model]. Errors are of type *[model.Error], or those
// of ctx.
func (c *Client) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		stream, err := c.ask(ctx, req)
		if err != nil {
			yield(nil, sse.Advise(err, c.advice(req.Model)))
			return
		}
		a := &answer{stream: stream, tools: toolNames(req.Tools), turn: req.Messages.Len()}
		a.yield = func(ev model.Event, err error) bool {
			if err != nil {
				err = sse.Advise(err, c.advice(req.Model))
			}
			return yield(ev, err)
		}
		a.play()
		if a.whole {
			stream.Close()
		} else {
			stream.Abandon()
		}
	}
}

// optional are parts of a request that not every server knows.
var optional = []string{"stream_options", "reasoning_effort", "max_completion_tokens", "max_tokens", "tool_choice", "user"}

// ask sends the request. A server that refuses what it does not know is asked
// again, and from then on, for no more than the essentials.
func (c *Client) ask(ctx context.Context, req *model.Request) (*sse.Stream, error) {
	_, plain := c.plain.Load(req.Model)
	stream, err := c.post(ctx, req, plain)
	if err != nil && !plain && sse.Refused(err, optional) {
		if stream, err = c.post(ctx, req, true); err == nil {
			c.plain.Store(req.Model, true)
		}
	}
	return stream, err
}

func (c *Client) post(ctx context.Context, req *model.Request, plain bool) (*sse.Stream, error) {
	b, err := c.body(req, plain)
	if err != nil {
		return nil, &model.Error{Kind: model.InvalidRequest, Message: "the request cannot be encoded: " + err.Error(), Err: err}
	}
	header := c.header
	if req.Session != "" {
		header = header.Clone()
		header.Set("X-Haft-Session-Id", req.Session)
	}
	call := &sse.Call{Client: c.opts.HTTP, URL: c.url, Header: header, Body: b, Idle: c.opts.Idle, FirstByte: c.opts.FirstByte}
	return call.Post(ctx)
}

func (c *Client) advice(name string) *sse.Advice {
	a := &sse.Advice{Server: c.url, Model: name, Address: "OPENAI_BASE_URL", Credentials: "Set OPENAI_API_KEY"}
	if c.opts.Key != "" {
		a.Credentials = "Check OPENAI_API_KEY"
	}
	return a
}

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
