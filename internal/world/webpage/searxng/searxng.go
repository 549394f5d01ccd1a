// Package searxng asks a SearXNG server, which a user runs or trusts, to search
// the web.
//
//	c, err := searxng.New("http://localhost:8888", nil)
//	hits, err := c.Search(ctx, "go generics")
//
// A [Client] is safe for concurrent use, and there is nothing to close.
//
// Trust: the server's address comes from the user's settings and may be private;
// it sees every query. What it finds was written by strangers.
package searxng

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options configure a [Client]. A nil *Options means all zero values.
type Options struct {
	// Proxy chooses the proxy of a request; nil means none.
	Proxy func(*http.Request) (*url.URL, error)
	// Timeout is for one search; 0 means 30 seconds.
	Timeout time.Duration
}

// A Client asks one server.
type Client struct {
	endpoint *url.URL
	http     *http.Client
	timeout  time.Duration
}

// A Hit is something that was found.
type Hit struct {
	Title   string
	URL     string
	Snippet string // what the page says, in short
	Date    string // when it was published, if that is known
}

const maxAnswer = 8 << 20 // bytes

// New returns a client of the server at an address.
func New(endpoint string, opts *Options) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(endpoint))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a search server: write one such as http://localhost:8888", endpoint)
	}
	if !strings.HasSuffix(u.Path, "/search") {
		u = u.JoinPath("search")
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	return &Client{endpoint: u, timeout: o.Timeout, http: &http.Client{
		Transport:     &http.Transport{Proxy: o.Proxy, DisableKeepAlives: true},
		CheckRedirect: stay,
	}}, nil
}

// stay follows a server that redirects to itself only: another one must not see
// what is searched for.
func stay(req *http.Request, via []*http.Request) error {
	if req.URL.Host != via[0].URL.Host || len(via) > 5 {
		to := *req.URL
		to.RawQuery = ""
		return fmt.Errorf("it redirects to %s; if that is the right server, set webSearch.endpoint to that address", to.Redacted())
	}
	return nil
}

// Search returns what the server finds, best first.
func (c *Client) Search(ctx context.Context, query string) ([]Hit, error) {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	hits, err := c.search(bounded, query)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && bounded.Err() != nil:
		return nil, fmt.Errorf("%s did not answer within %s", c.endpoint.Host, c.timeout)
	}
	return hits, err
}

func (c *Client) search(ctx context.Context, query string) ([]Hit, error) {
	u := *c.endpoint
	q := u.Query()
	q.Set("q", query)
	q.Set("format", "json")
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "haft")
	resp, err := c.http.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("no answer from %s: %w", c.endpoint.Host, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s answered 403 Forbidden: to let it answer in JSON, add json to search.formats in its settings.yml", c.endpoint.Host)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answered %s", c.endpoint.Host, resp.Status)
	}
	return c.read(resp.Body)
}

func (c *Client) read(r io.Reader) ([]Hit, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("could not read the answer from %s: %w", c.endpoint.Host, err)
	case len(raw) > maxAnswer:
		return nil, fmt.Errorf("the answer from %s is larger than the limit of %d bytes", c.endpoint.Host, maxAnswer)
	}
	var answer struct {
		Results []struct {
			Title         string  `json:"title"`
			URL           string  `json:"url"`
			Content       string  `json:"content"`
			PublishedDate *string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("%s did not answer as a SearXNG server does: %w", c.endpoint.Host, err)
	}
	var hits []Hit
	for _, r := range answer.Results {
		if u, err := url.Parse(r.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			continue
		}
		h := Hit{Title: oneLine(r.Title), URL: r.URL, Snippet: oneLine(r.Content)}
		if r.PublishedDate != nil {
			h.Date, _, _ = strings.Cut(*r.PublishedDate, "T")
		}
		hits = append(hits, h)
	}
	return hits, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
