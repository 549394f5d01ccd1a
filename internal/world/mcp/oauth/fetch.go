package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/haftdev/haft/internal/sys/loopback"
)

// maxAnswer is how much of an authorization server's answer is read.
const maxAnswer = 1 << 20

// errAbsent means that a server has no such document.
var errAbsent = errors.New("there is no such document")

// allowed says whether a URL that a stranger named may be asked: https, or plain
// http where everything is on this machine anyway.
func (c *Client) allowed(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("%q is not an http or https URL", printable(raw))
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopback.Host(u.Hostname()) && loopback.Host(c.url.Hostname()):
		return nil
	}
	return fmt.Errorf("cannot use %q: only https is safe here", printable(raw))
}

// getJSON reads a document of at most maxAnswer bytes.
func (c *Client) getJSON(ctx context.Context, from string, into any) error {
	if err := c.allowed(from); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 && resp.StatusCode < 500 {
		return errAbsent
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("read %s: status %d", from, resp.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	return nil
}

// client follows few redirections, and none to where it would not have gone by
// itself. What is posted is not sent elsewhere.
func (c *Client) client() *http.Client {
	own := *c.opts.HTTP
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) > 3 || via[0].Method != http.MethodGet {
			return http.ErrUseLastResponse
		}
		return c.allowed(req.URL.String())
	}
	return &own
}

// readAnswer reads a body as JSON, whatever the status; one that is none leaves
// into as it was.
func readAnswer(resp *http.Response, into any) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the authorization server's answer: %w", err)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		body = formAsJSON(body)
	}
	if err := json.Unmarshal(body, into); err != nil && resp.StatusCode < 300 {
		return fmt.Errorf("read the authorization server's answer: %w", err)
	}
	return nil
}

// formAsJSON is for authorization servers that are older than the standard.
func formAsJSON(body []byte) []byte {
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return body
	}
	flat := make(map[string]string, len(values))
	for k, v := range values {
		flat[k] = v[0]
	}
	out, err := json.Marshal(flat)
	if err != nil {
		return body
	}
	return out
}
