package oauth

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// maxReplay is how long a request may be to be sent again after a login.
const maxReplay = 64 << 20

type transport struct {
	*Client
	base http.RoundTripper
}

// RoundTrip sends the request, and again for each way forward that a refusal leaves.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Authorization") != "" || !t.mine(req) {
		return t.base.RoundTrip(req)
	}
	again, err := replay(req)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	l, err := t.current(ctx, "")
	if err != nil && !t.helps(err) {
		return nil, err
	}
	if err != nil || l == nil {
		l = new(login)
	}
	try := attempt{client: t.Client, refused: make(map[string]bool)}
	for {
		resp, err := t.send(again(), l)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		next, err := try.after(ctx, req, resp, l)
		if next == nil && err == nil {
			return resp, nil
		}
		io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		l = next
	}
}

// mine reports whether the request goes to the server: tokens go nowhere else, not
// by a redirection either.
func (t *transport) mine(req *http.Request) bool {
	return req.URL.Scheme == t.url.Scheme && req.URL.Host == t.url.Host
}

// replay returns a function that makes the request again, with its body.
func replay(req *http.Request) (func() *http.Request, error) {
	var body []byte
	if req.Body != nil && req.Body != http.NoBody {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, maxReplay+1))
		req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
		if len(body) > maxReplay {
			return nil, fmt.Errorf("the request is larger than %d bytes", maxReplay)
		}
	}
	return func() *http.Request {
		r := req.Clone(req.Context())
		if body != nil {
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		}
		return r
	}, nil
}

// send sends the request with the token of l, if it has one.
func (t *transport) send(req *http.Request, l *login) (*http.Response, error) {
	if l.Access != "" {
		key, err := readProofKey(l.Key)
		if err != nil {
			return nil, err
		}
		scheme := "Bearer"
		if key != nil {
			scheme = "DPoP"
			target := req.URL.String()
			proof, err := key.prove(req.Method, target, l.Access, t.nonces.of(target), t.opts.Now())
			if err != nil {
				return nil, err
			}
			req.Header.Set("DPoP", proof)
		}
		req.Header.Set("Authorization", scheme+" "+l.Access)
	}
	return t.base.RoundTrip(req)
}

// An attempt is the way of one request to being let in.
type attempt struct {
	client  *Client
	refused map[string]bool // tokens that were not good enough
	nonced  bool
	logins  int
}

// maxLogins is how often one request may ask the user: once to log in, once to
// allow more. A server that wants more than that goes in circles.
const maxLogins = 2

// after says how to continue when l was refused: with another login, not at all (nil),
// or with an error that says what a user can do.
func (a *attempt) after(ctx context.Context, req *http.Request, resp *http.Response, l *login) (*login, error) {
	c, ch := a.client, readChallenge(resp)
	if c.nonces.learn(req.URL.String(), resp) && l.Key != "" && !a.nonced {
		a.nonced = true
		return l, nil // the token is good, its proof was not
	}
	moreScopes := ch.status == http.StatusForbidden && ch.errcode == "insufficient_scope"
	if ch.status == http.StatusForbidden && !moreScopes {
		return nil, nil
	}
	first := !a.refused[l.Access]
	a.refused[l.Access] = true
	if next := c.other(l.Access); next != nil && !a.refused[next.Access] {
		return next, nil
	}
	if first && l.Access != "" && !moreScopes {
		next, err := c.current(ctx, l.Access)
		if err == nil && next.Access != "" && !a.refused[next.Access] {
			return next, nil
		}
		if err != nil && !c.helps(err) {
			return nil, err
		}
	}
	return a.login(ctx, ch, l, moreScopes)
}

// login asks for a new login, if anybody can be asked.
func (a *attempt) login(ctx context.Context, ch challenge, l *login, moreScopes bool) (*login, error) {
	c := a.client
	reason := "the server requires one"
	switch {
	case moreScopes:
		reason = "the last login does not have the scopes it needs"
	case l.Access != "":
		reason = "the server does not accept the last login"
	}
	needed := &LoginError{Server: c.remote.Name, Reason: reason, Scopes: ch.scopes}
	if moreScopes && len(ch.scopes) > 0 && covers(l.Scopes, ch.scopes) {
		return nil, &refusedError{c.remote.Name, ch.scopes} // another login would be the same
	}
	if c.opts.UserAgent == nil && c.remote.Machine == nil {
		c.remember(ctx, ch)
		return nil, needed
	}
	if a.logins == maxLogins {
		needed.Reason = "the server rejects the scopes it asked for"
		return nil, needed
	}
	a.logins++
	c.asking.Lock()
	defer c.asking.Unlock()
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	if known != nil && known.Access != "" && !a.refused[known.Access] {
		return known, nil // another request has just asked
	}
	next, err := c.authorize(ctx, ch, c.opts.UserAgent)
	if err != nil {
		needed.Err = err
		return nil, needed
	}
	return next, nil
}

// covers reports whether every scope of want was granted.
func covers(granted, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(granted, s) })
}
