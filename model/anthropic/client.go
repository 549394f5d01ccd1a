package anthropic

import (
	"cmp"
	"context"
	"errors"
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
	// BaseURL is where the API is; "" means https://api.anthropic.com.
	BaseURL string
	// Key is sent as x-api-key, Token as a bearer token; "" sends none.
	Key, Token string
	// Headers are sent with every request, and win over the client's own.
	Headers http.Header
	// UserAgent names the program; "" means haft.
	UserAgent string
	// Idle is how long nothing may come in the middle of an answer; 0 means 2
	// minutes. FirstByte is how long an answer may take to begin; 0 means 10.
	Idle, FirstByte time.Duration
	// HTTP makes the connections; nil means a client of its own.
	HTTP *http.Client
}

// FromEnv returns the options that the environment gives by ANTHROPIC_BASE_URL,
// ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_CUSTOM_HEADERS, which
// has lines like "Name: value".
func FromEnv(getenv func(string) string) *Options {
	o := &Options{
		BaseURL: getenv("ANTHROPIC_BASE_URL"),
		Key:     getenv("ANTHROPIC_API_KEY"),
		Token:   getenv("ANTHROPIC_AUTH_TOKEN"),
		Headers: http.Header{},
	}
	for line := range strings.Lines(getenv("ANTHROPIC_CUSTOM_HEADERS")) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			o.Headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return o
}

// A Client is a [model.Model] behind the Messages API.
type Client struct {
	opts   Options
	url    string
	header http.Header
	plain  sync.Map // names of models whose servers take no more than the essentials
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
	base := strings.TrimRight(cmp.Or(o.BaseURL, "https://api.anthropic.com"), "/")
	return &Client{opts: o, url: strings.TrimSuffix(base, "/v1") + "/v1/messages", header: baseHeader(&o)}
}

func baseHeader(o *Options) http.Header {
	h := http.Header{
		"Content-Type":      {"application/json"},
		"Accept":            {"text/event-stream"},
		"Anthropic-Version": {"2023-06-01"},
		"User-Agent":        {cmp.Or(o.UserAgent, "haft")},
		"X-App":             {"haft"},
	}
	if o.Key != "" {
		h.Set("X-Api-Key", o.Key)
	}
	if o.Token != "" {
		h.Set("Authorization", "Bearer "+o.Token)
	}
	for name, values := range o.Headers {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h
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
		a := &answer{stream: stream}
		for ev, err := range a.events() {
			if err != nil {
				err = sse.Advise(err, c.advice(req.Model))
			}
			if !yield(ev, err) {
				break
			}
		}
		if a.whole {
			stream.Close()
		} else {
			stream.Abandon()
		}
	}
}

// ask sends the request. A server that refuses what only newer ones know is
// asked again, and from then on, for no more than the essentials.
func (c *Client) ask(ctx context.Context, req *model.Request) (*sse.Stream, error) {
	_, plain := c.plain.Load(req.Model)
	stream, err := c.post(ctx, req, plain)
	if err != nil && !plain && sse.Refused(err, newFeatures) {
		if stream, err = c.post(ctx, req, true); err == nil {
			c.plain.Store(req.Model, true)
		}
	}
	if err != nil && unthought(err) {
		without := *req
		without.Thinking = &model.ThinkingOptions{Mode: "disabled"}
		stream, err = c.post(ctx, &without, plain)
	}
	return stream, err
}

// unthought reports whether a request was refused because the calls whose results
// it brings were made without a thought: by another model, or before thinking was
// turned on. Models with a budget go on from there only if they do not think either.
func unthought(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	return ok && e.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(e.Message), "expected `thinking`")
}

func (c *Client) post(ctx context.Context, req *model.Request, plain bool) (*sse.Stream, error) {
	b, betas, err := newBody(req, plain)
	if err != nil {
		return nil, err
	}
	call := &sse.Call{
		Client: c.opts.HTTP, URL: c.url, Header: c.requestHeader(req, betas), Body: b,
		Idle: c.opts.Idle, FirstByte: c.opts.FirstByte,
	}
	return call.Post(ctx)
}

func (c *Client) requestHeader(req *model.Request, betas []string) http.Header {
	h := c.header.Clone()
	if len(betas) > 0 {
		if own := h.Get("Anthropic-Beta"); own != "" {
			betas = append([]string{own}, betas...)
		}
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	if req.Session != "" {
		h.Set("X-Haft-Session-Id", req.Session)
	}
	return h
}

// newFeatures are parts of a request that not every server knows.
var newFeatures = []string{"thinking", "block_binding", "output_config", "effort", "anthropic-beta", "beta header"}

func (c *Client) advice(name string) *sse.Advice {
	a := &sse.Advice{Server: c.url, Model: name, Address: "ANTHROPIC_BASE_URL", Credentials: "Set ANTHROPIC_API_KEY"}
	switch {
	case c.opts.Key != "":
		a.Credentials = "Check ANTHROPIC_API_KEY"
	case c.opts.Token != "":
		a.Credentials = "Check ANTHROPIC_AUTH_TOKEN"
	}
	return a
}
