package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/internal/sse"
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
