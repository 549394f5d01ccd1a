package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/models/sse"
	"github.com/haftdev/haft/model"
)

// Options configure a Client.
type Options struct {
	// BaseURL is where the API is; "" means https://api.anthropic.com.
	BaseURL string
	// Key is sent as x-api-key, Token as a bearer token; "" sends none.
	Key, Token string
	// Headers are sent with every request, and override the client's own.
	Headers http.Header
	// UserAgent names the program; "" means haft.
	UserAgent string
	// Idle is how long an answer may pause in the middle; 0 means 2 minutes. FirstByte is how
	// long an answer may take to begin; 0 means 10.
	Idle, FirstByte time.Duration
	// HTTP makes the connections; nil means a new client.
	HTTP *http.Client
}

// FromEnv returns options from the environment variables ANTHROPIC_BASE_URL,
// ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_CUSTOM_HEADERS, which has lines like
// "Name: value". Without a key or token, CLAUDE_CODE_OAUTH_TOKEN is the token.
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
	if token := getenv("CLAUDE_CODE_OAUTH_TOKEN"); o.Key == "" && o.Token == "" && token != "" {
		o.Token = token
		o.Headers.Set("Anthropic-Beta", strings.TrimPrefix(o.Headers.Get("Anthropic-Beta")+","+betaLogin, ","))
	}
	return o
}

// betaLogin lets the API take the token of a login in the place of a key.
const betaLogin = "oauth-2025-04-20"

// A Client is a [model.Model] that uses the Messages API.
type Client struct {
	opts    Options
	url     string
	header  http.Header
	without sync.Map // what servers do not take, by name of the model: features
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
		stream, adjusted, err := c.ask(ctx, req)
		if err != nil {
			yield(nil, sse.Advise(err, c.advice(req.Model)))
			return
		}
		for _, text := range adjusted {
			if !yield(model.Adjusted{Text: text}, nil) {
				stream.Abandon()
				return
			}
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

// ask sends the request. A server that refuses a part which not every server knows is
// asked again without it, and from then on. It returns what is not as it was asked for.
func (c *Client) ask(ctx context.Context, req *model.Request) (*sse.Stream, []string, error) {
	known, _ := c.without.Load(req.Model)
	without, _ := known.(features)
	stream, s, err := c.post(ctx, req, without)
	var adjusted []string
	for range maxFeatures {
		if err == nil || s == nil || unthought(err) {
			break
		}
		f := offending(err, s, without)
		if f == "" {
			break
		}
		refused := err
		less := without.and(f)
		if stream, s, err = c.post(ctx, req, less); err == nil {
			c.without.Store(req.Model, less)
		}
		without, adjusted = less, append(adjusted, leftOut(f, refused))
	}
	if err != nil && unthought(err) {
		unthinking := *req
		unthinking.Thinking = &model.ThinkingOptions{Mode: "disabled"}
		stream, s, err = c.post(ctx, &unthinking, without)
	}
	if s != nil {
		adjusted = append(adjusted, s.adjusted...)
	}
	return stream, adjusted, err
}

func (c *Client) post(ctx context.Context, req *model.Request, without features) (*sse.Stream, *settings, error) {
	b, s, err := newBody(req, without)
	if err != nil {
		return nil, nil, err
	}
	call := &sse.Call{
		Client: c.opts.HTTP, URL: c.url, Header: c.requestHeader(req, s.betas), Body: b,
		Idle: c.opts.Idle, FirstByte: c.opts.FirstByte,
	}
	stream, err := call.Post(ctx)
	return stream, s, err
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
