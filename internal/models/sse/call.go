package sse

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/haftdev/haft/model"
)

// A Call is a question to a server.
type Call struct {
	Client *http.Client
	URL    string
	Header http.Header
	Body   *Body
	// Idle is how long nothing may come, FirstByte how long an answer may take to
	// begin.
	Idle, FirstByte time.Duration
}

// Post sends the question and returns the answer's stream. Errors are of type
// *[model.Error], or the context's own.
func (c *Call) Post(ctx context.Context) (*Stream, error) {
	inner, cancel := context.WithCancelCause(ctx)
	s := &Stream{call: c, ctx: ctx, inner: inner, cancel: cancel, limit: c.FirstByte}
	s.watchdog = time.AfterFunc(c.FirstByte, func() { cancel(errStalled) })
	req, err := c.request(inner)
	if err != nil {
		s.Close()
		return nil, unusable(err)
	}
	resp, err := c.Client.Do(req)
	if err != nil {
		defer s.Close()
		return nil, s.failure(err)
	}
	s.body = resp.Body
	if err := s.open(resp); err != nil {
		defer s.Close()
		return nil, err
	}
	return s, nil
}

func unusable(err error) error {
	return &model.Error{Kind: model.InvalidRequest, Message: "cannot use the address of the model's server: " + err.Error(), Err: err}
}

func (c *Call) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, nil)
	if err != nil {
		return nil, err
	}
	if req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, errors.New("it must start with http:// or https:// and name a host")
	}
	req.Header = c.Header
	req.ContentLength = c.Body.Len()
	req.GetBody = func() (io.ReadCloser, error) { return c.Body.Reader(), nil }
	req.Body = c.Body.Reader()
	return req, nil
}
