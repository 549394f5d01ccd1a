package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Login logs the user in: it asks the server who may let haft in, and visits
// that page with the user agent that open returns for a port, 0 meaning any.
func (c *Client) Login(ctx context.Context, open func(port int) (UserAgent, error)) error {
	ch, err := c.probe(ctx)
	if err != nil {
		return fmt.Errorf("could not log in to the MCP server %q: %w", c.remote.Name, err)
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	if _, err := c.authorize(ctx, ch, open); err != nil {
		return fmt.Errorf("could not log in to the MCP server %q: %w", c.remote.Name, err)
	}
	return nil
}

// probe asks the server, as nobody in particular, what it wants to see: in the words of
// the older era, and where they are not even refused as a stranger's, in those of the
// newer. What an earlier refusal asked for is wanted as well.
func (c *Client) probe(ctx context.Context) (challenge, error) {
	var ch challenge
	for _, hello := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"haft","version":"0"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"haft","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		var err error
		if ch, err = c.greet(ctx, hello); err != nil {
			return challenge{}, err
		}
		if ch.status != http.StatusBadRequest {
			break
		}
	}
	if l, err := c.store.read(c.key()); err == nil {
		ch.scopes = union(ch.scopes, l.Wanted)
		if ch.metadata == "" {
			ch.metadata = l.Metadata
		}
	}
	return ch, nil
}

// greet sends the first message of a session without credentials.
func (c *Client) greet(ctx context.Context, hello string) (challenge, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.remote.URL, strings.NewReader(hello))
	if err != nil {
		return challenge{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if strings.Contains(hello, "server/discover") {
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "server/discover")
	}
	resp, err := c.client().Do(req)
	if err != nil {
		return challenge{}, err
	}
	defer resp.Body.Close()
	return readChallenge(resp), nil
}

// A quest is what is known on the way to a token.
type quest struct {
	res    *resource
	iss    *issuer
	scopes []string
	key    *proofKey    // binds the token; nil does not
	kept   registration // of an earlier login; zero if there is none
}

// page is where the user decides.
func (q quest) page(client registration, redirect, verifier string) *url.URL {
	page, err := url.Parse(q.iss.Authorize)
	if err != nil {
		page = new(url.URL) // it was parsed before; see readIssuer
	}
	sum := sha256.Sum256([]byte(verifier))
	v := page.Query()
	v.Set("response_type", "code")
	v.Set("client_id", client.ID)
	v.Set("redirect_uri", redirect)
	v.Set("code_challenge", b64(sum[:]))
	v.Set("code_challenge_method", "S256")
	v.Set("state", rand.Text())
	v.Set("resource", q.res.Resource)
	if len(q.scopes) > 0 {
		v.Set("scope", strings.Join(q.scopes, " "))
	}
	page.RawQuery = v.Encode()
	return page
}

// authorize gets a token that answers the challenge, and keeps it. The caller
// holds c.asking.
func (c *Client) authorize(ctx context.Context, ch challenge, open func(int) (UserAgent, error)) (*login, error) {
	if err := c.allowed(c.remote.URL); err != nil {
		return nil, err // whoever listens would have the token
	}
	res, iss, err := c.discover(ctx, ch.metadata)
	if err != nil {
		return nil, err
	}
	if res.assumed && ch.status != 0 && ch.status < 300 {
		return nil, errors.New("it needs no login and names no authorization server")
	}
	before, err := c.store.read(c.key())
	if err != nil {
		before = new(login)
	}
	q := quest{res: res, iss: iss, scopes: c.scopes(ch, res, iss, before), kept: before.Clients[iss.Issuer]}
	next := login{Issuer: iss.Issuer, Resource: res.Resource, Token: iss.Token, Revoke: iss.Revoke}
	if c.remote.DPoP || res.DPoPRequired {
		if q.key, err = newProofKey(); err != nil {
			return nil, err
		}
		if next.Key, err = q.key.text(); err != nil {
			return nil, err
		}
	}
	var answer *tokenAnswer
	if c.remote.Machine != nil {
		answer, next.Client, err = c.enter(ctx, q)
	} else {
		answer, next.Client, err = c.ask(ctx, q, open)
	}
	if err != nil {
		return nil, err
	}
	next.keep(answer, q.scopes, c.opts.Now())
	return c.save(ctx, &next)
}

// save writes a new login down.
func (c *Client) save(ctx context.Context, next *login) (*login, error) {
	if next.Client.ID == c.remote.ClientID {
		next.Client.Secret = "" // it stands in the entry
	}
	kept, err := c.store.change(context.WithoutCancel(ctx), c.key(), c.remote.URL, func(l *login) error {
		clients := l.Clients
		*l = *next
		l.Version, l.Server, l.Clients = loginVersion, c.remote.URL, clients
		if next.Client.Redirect != "" {
			if l.Clients == nil {
				l.Clients = make(map[string]registration)
			}
			l.Clients[next.Issuer] = next.Client
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.known, c.unsaved = kept, nil
	c.mu.Unlock()
	return kept, nil
}

// scopes are what to ask for: what the entry says, else what the server asks for,
// with what was granted before, so that a step up is not a step aside.
func (c *Client) scopes(ch challenge, res *resource, iss *issuer, before *login) []string {
	if c.remote.Scopes != nil {
		return c.remote.Scopes
	}
	want := ch.scopes
	if len(want) == 0 {
		want = res.Scopes
	}
	if c.remote.Machine == nil && slices.Contains(iss.Scopes, "offline_access") {
		want = union(want, []string{"offline_access"})
	}
	if before.Issuer == iss.Issuer && before.Access != "" {
		want = union(before.Scopes, want)
	}
	return want
}

// union returns what is in a or b, in that order.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Logout tells the authorization server that the tokens are no longer needed, as
// far as it listens, and forgets them. It reports whether there were any.
func (c *Client) Logout(ctx context.Context) (bool, error) {
	var was login
	_, err := c.store.change(ctx, c.key(), c.remote.URL, func(l *login) error {
		was = *l
		l.forget()
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("could not log out of the MCP server %q: %w", c.remote.Name, err)
	}
	c.mu.Lock()
	c.known, c.unsaved = nil, nil
	c.mu.Unlock()
	if was.Revoke != "" {
		c.revoke(ctx, &was)
	}
	return was.Access != "" || was.Refresh != "", nil
}

// revoke is a courtesy (RFC 7009): the tokens are gone from here in any case.
func (c *Client) revoke(ctx context.Context, was *login) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, t := range []struct{ token, kind string }{{was.Refresh, "refresh_token"}, {was.Access, "access_token"}} {
		if t.token == "" || c.allowed(was.Revoke) != nil {
			continue
		}
		req, err := c.tokenRequest(ctx, exchange{
			endpoint: was.Revoke, issuer: was.Issuer, client: c.clientOf(was),
			form: url.Values{"token": {t.token}, "token_type_hint": {t.kind}},
		})
		if err != nil {
			return
		}
		resp, err := c.client().Do(req)
		if err != nil {
			return
		}
		io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
		resp.Body.Close()
	}
}

// A State is what is known of a login without asking anybody.
type State struct {
	LoggedIn bool
	Issuer   string
	Scopes   []string
	// Expires is when the token runs out; zero if it does not say.
	Expires time.Time
	// Renewable is set if it is then renewed without a user.
	Renewable bool
}

// State looks into the store.
func (c *Client) State() (State, error) {
	l, err := c.store.read(c.key())
	if err != nil {
		return State{}, err
	}
	usable := l.Refresh != "" || l.fresh(c.opts.Now())
	return State{LoggedIn: usable, Issuer: l.Issuer, Scopes: l.Scopes, Expires: l.Expires, Renewable: l.Refresh != ""}, nil
}

// errNobody means that a user is needed and none can be reached.
var errNobody = errors.New("no user can be asked to log in here")
