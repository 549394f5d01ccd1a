package oauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/sys/loopback"
)

// A Remote is a server as its entry describes it.
type Remote struct {
	// Name is what the user calls it; errors name it.
	Name string
	// URL is the server's endpoint.
	URL string
	// ClientID and ClientSecret were registered beforehand; "" means that they
	// were not. A public client has no secret.
	ClientID, ClientSecret string
	// ClientDocument is the https address of a document that describes the client,
	// for authorization servers that accept one; "" means that there is none.
	ClientDocument string
	// MetadataURL is where the authorization server describes itself; "" means
	// that the server says which one it is.
	MetadataURL string
	// Scopes are those to ask for; nil means what the server asks for.
	Scopes []string
	// CallbackPort is where the browser comes back to; 0 means any that is free.
	CallbackPort int
	// DPoP binds tokens to a key of this client, also where the server does not
	// insist on it.
	DPoP bool
	// Machine logs in without a user; nil means that a user does.
	Machine *Machine
}

// Options configure a [Client]. Nil means all zero values.
type Options struct {
	// HTTP makes the requests to authorization servers; nil means a client that
	// gives up after 30 seconds.
	HTTP *http.Client
	// UserAgent takes a user to a page in the middle of a request that needs it;
	// nil means that nobody can be asked, and such a request fails.
	UserAgent func(port int) (UserAgent, error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Client is haft's account at one server.
type Client struct {
	remote Remote
	url    *url.URL
	store  *Store
	opts   Options

	mu      sync.Mutex
	known   *login        // the login as last seen; nil: look into the store
	unsaved *login        // refreshed and not yet on disk; nil: there is none
	busy    chan struct{} // closed when the refresh under way is over; nil: none is

	asking sync.Mutex // one login at a time
	nonces nonces
}

// New returns the client for a server.
func New(remote Remote, store *Store, opts *Options) (*Client, error) {
	u, err := url.Parse(remote.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("cannot log in to %s: %q is not an http or https URL", remote.Name, remote.URL)
	}
	c := &Client{remote: remote, url: u, store: store}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.HTTP == nil {
		c.opts.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	return c, nil
}

// key names the login in the store: another client of the same server is another login.
func (c *Client) key() string { return storeKey(c.remote.URL, c.remote.ClientID) }

// ask has the user log in: the authorization code grant with PKCE.
func (c *Client) ask(ctx context.Context, q quest, open func(int) (UserAgent, error)) (*tokenAnswer, registration, error) {
	if open == nil {
		return nil, q.kept, errNobody
	}
	if q.iss.Authorize == "" || !q.iss.proves() {
		return nil, q.kept, fmt.Errorf("the authorization server %s offers no safe way to log in: it needs an authorization endpoint with PKCE (S256)", q.iss.Issuer)
	}
	agent, err := c.openAgent(q.kept, open)
	if err != nil {
		return nil, q.kept, err
	}
	defer agent.Close()
	client, err := c.identify(ctx, q.iss, q.kept, agent.RedirectURL())
	if err != nil {
		return nil, q.kept, err
	}
	verifier := rand.Text() + rand.Text() // 52 characters, the standard wants 43
	code, err := c.visit(ctx, agent, q.iss, q.page(client, agent.RedirectURL(), verifier))
	if err != nil {
		return nil, client, err
	}
	answer, err := c.redeem(ctx, exchange{
		endpoint: q.iss.Token, issuer: q.iss.Issuer, client: client, key: q.key,
		form: url.Values{
			"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {agent.RedirectURL()},
			"code_verifier": {verifier}, "resource": {q.res.Resource},
		},
	})
	return answer, client, err
}

// identify returns how iss knows this client, registering it if need be. Kept is
// the registration of an earlier login, which holds for its redirect only.
func (c *Client) identify(ctx context.Context, iss *issuer, kept registration, redirect string) (registration, error) {
	switch {
	case c.remote.ClientID != "":
		return c.registered(iss), nil
	case c.remote.ClientDocument != "" && iss.ClientDocuments:
		return registration{ID: c.remote.ClientDocument, Method: proveNone}, nil
	case kept.ID != "" && kept.Redirect == redirect:
		return kept, nil
	case iss.Register != "":
		return c.register(ctx, iss, redirect)
	}
	return registration{}, errors.New("the authorization server only accepts clients that were registered in advance: set oauth.clientId in the server's entry")
}

// openAgent prefers the port that the client is registered with: a registration
// holds for one address.
func (c *Client) openAgent(kept registration, open func(int) (UserAgent, error)) (UserAgent, error) {
	if c.remote.CallbackPort != 0 {
		return open(c.remote.CallbackPort)
	}
	if u, err := url.Parse(kept.Redirect); err == nil && u.Port() != "" {
		port, _ := strconv.Atoi(u.Port())
		if agent, err := open(port); err == nil {
			return agent, nil
		}
	}
	return open(0)
}

// visit returns the code that the authorization server gave, after checking that
// the answer is to this question and from the server that was asked.
func (c *Client) visit(ctx context.Context, agent UserAgent, iss *issuer, page *url.URL) (string, error) {
	back, err := agent.Visit(ctx, page.String())
	if err != nil {
		return "", err
	}
	u, err := url.Parse(back)
	if err != nil {
		return "", errors.New("could not read the address that the browser returned to")
	}
	q := u.Query()
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(page.Query().Get("state"))) != 1 {
		return "", errors.New("the browser returned from a different login (the state differs)")
	}
	if err := iss.checkName(q); err != nil {
		return "", err
	}
	if code := q.Get("error"); code != "" {
		return "", &tokenError{Code: code, Description: q.Get("error_description")}
	}
	if q.Get("code") == "" {
		return "", errors.New("the browser returned without a code")
	}
	return q.Get("code"), nil
}

// discover finds the server's description and that of its authorization server.
func (c *Client) discover(ctx context.Context, metadata string) (*resource, *issuer, error) {
	res, err := c.findResource(ctx, metadata)
	if err != nil {
		return nil, nil, err
	}
	if c.remote.MetadataURL != "" {
		iss, err := c.readIssuer(ctx, c.remote.MetadataURL, "")
		if err != nil {
			return nil, nil, fmt.Errorf("read the authorization server's metadata: %w", err)
		}
		return res, iss, nil
	}
	iss, err := c.findIssuer(ctx, res)
	return res, iss, err
}

// findResource looks where the challenge points, then below the server's path,
// then at its root.
func (c *Client) findResource(ctx context.Context, metadata string) (*resource, error) {
	const wellKnown = "/.well-known/oauth-protected-resource"
	places := []string{c.at(wellKnown + strings.TrimSuffix(c.url.EscapedPath(), "/")), c.at(wellKnown)}
	if metadata != "" {
		places = append([]string{metadata}, places...)
	}
	for _, place := range slices.Compact(places) {
		res := new(resource)
		err := c.getJSON(ctx, place, res)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // the next place may do better, and the oldest servers have none
		}
		return res, c.checkResource(res, place)
	}
	// The oldest revision: the server is its own authorization server.
	return &resource{Resource: c.remote.URL, AuthorizationServers: []string{c.at("")}, assumed: true}, nil
}

// checkResource refuses a description of another server: a token for it would be
// sent to this one.
func (c *Client) checkResource(res *resource, place string) error {
	u, err := url.Parse(res.Resource)
	if err != nil || !strings.EqualFold(u.Scheme, c.url.Scheme) || !strings.EqualFold(u.Host, c.url.Host) || !below(c.url.Path, u.Path) {
		return fmt.Errorf("%s describes the resource %q, which is not the server %s", place, printable(res.Resource), c.remote.URL)
	}
	if len(res.AuthorizationServers) == 0 {
		return fmt.Errorf("%s does not name an authorization server", place)
	}
	return nil
}

// at is an address on the server's host.
func (c *Client) at(path string) string {
	return c.url.Scheme + "://" + c.url.Host + path
}

// findIssuer looks in the places where an authorization server describes itself.
func (c *Client) findIssuer(ctx context.Context, res *resource) (*issuer, error) {
	name := res.AuthorizationServers[0]
	if err := c.allowed(name); err != nil {
		return nil, fmt.Errorf("cannot use the authorization server: %w", err)
	}
	for _, place := range issuerPlaces(name) {
		iss, err := c.readIssuer(ctx, place, name)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the authorization server's metadata: %w", err)
		}
		return iss, nil
	}
	if !res.assumed {
		return nil, fmt.Errorf("the authorization server %s does not say how to log in: it has no metadata document", name)
	}
	base := strings.TrimSuffix(name, "/")
	return &issuer{Issuer: name, Authorize: base + "/authorize", Token: base + "/token", Register: base + "/register", assumed: true}, nil
}

// readIssuer reads and checks a description; want is the name it must bear, "" any.
func (c *Client) readIssuer(ctx context.Context, place, want string) (*issuer, error) {
	iss := new(issuer)
	if err := c.getJSON(ctx, place, iss); err != nil {
		return nil, err
	}
	if want != "" && strings.TrimSuffix(iss.Issuer, "/") != strings.TrimSuffix(want, "/") {
		return nil, fmt.Errorf("%s describes the issuer %q, not %q", place, printable(iss.Issuer), want)
	}
	for _, endpoint := range []string{iss.Authorize, iss.Token, iss.Register, iss.Revoke} {
		if endpoint == "" {
			continue
		}
		if err := c.allowed(endpoint); err != nil {
			return nil, err
		}
	}
	if iss.Token == "" {
		return nil, fmt.Errorf("%s does not name a token endpoint", place)
	}
	return iss, nil
}

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

// State looks into the store.
func (c *Client) State() (State, error) {
	l, err := c.store.read(c.key())
	if err != nil {
		return State{}, err
	}
	usable := l.Refresh != "" || l.fresh(c.opts.Now())
	return State{LoggedIn: usable, Issuer: l.Issuer, Scopes: l.Scopes, Expires: l.Expires, Renewable: l.Refresh != ""}, nil
}

// enter logs in without a user.
func (c *Client) enter(ctx context.Context, q quest) (*tokenAnswer, registration, error) {
	m := c.remote.Machine
	client := c.registered(q.iss)
	if m.Key != "" {
		client.Method, client.Secret = proveJWT, ""
	}
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {q.res.Resource}}
	if len(q.scopes) > 0 {
		form.Set("scope", strings.Join(q.scopes, " "))
	}
	var assertion string
	var err error
	switch {
	case m.Company != nil:
		assertion, err = c.vouch(ctx, q.res, q.iss)
	case m.Assertion != nil:
		assertion, err = m.Assertion(ctx, q.iss.Issuer)
	}
	if err != nil {
		return nil, client, err
	}
	if assertion != "" {
		form.Set("grant_type", jwtBearer)
		form.Set("assertion", assertion)
	}
	answer, err := c.redeem(ctx, exchange{endpoint: q.iss.Token, issuer: q.iss.Issuer, client: client, form: form, key: q.key})
	return answer, client, err
}

// vouch has the company's identity provider vouch for the user (RFC 8693).
func (c *Client) vouch(ctx context.Context, res *resource, iss *issuer) (string, error) {
	company := c.remote.Machine.Company
	if err := c.allowed(company.TokenEndpoint); err != nil {
		return "", err
	}
	id, err := company.IDToken(ctx)
	if err != nil {
		return "", err
	}
	answer, err := c.redeem(ctx, exchange{
		endpoint: company.TokenEndpoint,
		client:   registration{ID: company.ClientID, Method: proveNone},
		form: url.Values{
			"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
			"requested_token_type": {"urn:ietf:params:oauth:token-type:id-jag"},
			"subject_token":        {id},
			"subject_token_type":   {"urn:ietf:params:oauth:token-type:id_token"},
			"audience":             {iss.Issuer},
			"resource":             {res.Resource},
		},
	})
	if err != nil {
		return "", err
	}
	return answer.Access, nil
}

// current returns a login whose token can be used. Stale is a token that the
// server has refused, "" if none was. An error is a *LoginError if only a login
// helps. Without any login the result has no token.
func (c *Client) current(ctx context.Context, stale string) (*login, error) {
	for {
		c.mu.Lock()
		if c.usable(c.known, stale) {
			defer c.mu.Unlock()
			return c.known, nil
		}
		if c.busy == nil {
			break
		}
		busy := c.busy
		c.mu.Unlock()
		select {
		case <-busy: // someone has refreshed, or could not
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	// A refresh is not given up with the request that caused it: the answer that
	// nobody waits for any more may hold the only token that still works.
	busy := make(chan struct{})
	c.busy = busy
	c.mu.Unlock()
	var found *login
	var err error
	go func() {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
		defer cancel()
		found, err = c.renew(own, stale)
		c.mu.Lock()
		c.known, c.busy = found, nil
		c.mu.Unlock()
		close(busy)
	}()
	select {
	case <-busy:
		return found, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// usable reports whether the token of l is fresh and not the refused one.
func (c *Client) usable(l *login, stale string) bool {
	return l != nil && l.Access != stale && l.fresh(c.opts.Now())
}

// renew looks into the store, where another process may have put a new token, and
// refreshes if there is none.
func (c *Client) renew(ctx context.Context, stale string) (*login, error) {
	l, err := c.store.read(c.key())
	if u := c.takenIn(); u != nil {
		l, err = u, nil
	}
	switch {
	case errors.Is(err, errDamaged):
		return nil, &LoginError{Server: c.remote.Name, Reason: "the saved login cannot be used", Err: err}
	case err != nil:
		return nil, err
	case c.usable(l, stale):
		return l, nil
	case l.Refresh == "" && c.remote.Machine != nil:
		return new(login), nil // it can always log in again
	case l.Refresh == "" && l.Access == "":
		return l, nil
	case l.Refresh == "":
		return nil, &LoginError{Server: c.remote.Name, Reason: "the last login has expired", Scopes: l.Wanted}
	}
	return c.renewLocked(ctx, stale)
}

// renewLocked refreshes while no other process does, unless one already has.
func (c *Client) renewLocked(ctx context.Context, stale string) (*login, error) {
	var over *tokenError
	now, err := c.store.change(ctx, c.key(), c.remote.URL, func(l *login) error {
		if u := c.takenIn(); u != nil {
			*l = *u
		}
		if c.usable(l, stale) || l.Refresh == "" {
			return nil // another process was faster
		}
		err := c.refresh(ctx, l)
		if err == nil {
			got := *l
			c.takeIn(&got)
		}
		if errors.As(err, &over) && over.over() {
			l.forget()
			if over.Code == "invalid_client" {
				delete(l.Clients, l.Issuer)
			}
			return nil
		}
		return err
	})
	switch u := c.takenIn(); {
	case err != nil && c.usable(u, stale):
		return u, nil // the disk may be full; the next refresh writes it down
	case err != nil:
		return nil, fmt.Errorf("could not refresh the login of the MCP server %q; the next request tries again: %w", c.remote.Name, err)
	case over != nil:
		return nil, &LoginError{Server: c.remote.Name, Reason: "the last login is no longer valid", Err: over}
	case now.Access == "":
		return nil, &LoginError{Server: c.remote.Name, Reason: "the last login is no longer valid"}
	}
	c.takeIn(nil)
	return now, nil
}

// takeIn keeps a refreshed login until it is written; nil means that it is.
func (c *Client) takeIn(l *login) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsaved = l
}

func (c *Client) takenIn() *login {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsaved
}

// refresh trades the refresh token for a new token. The caller holds the lock.
func (c *Client) refresh(ctx context.Context, l *login) error {
	key, err := readProofKey(l.Key)
	if err != nil {
		return err
	}
	answer, err := c.redeem(ctx, exchange{
		endpoint: l.Token, issuer: l.Issuer, client: c.clientOf(l), key: key,
		form: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}, "resource": {l.Resource}},
	})
	if err != nil {
		return err
	}
	l.keep(answer, nil, c.opts.Now())
	return nil
}

// clientOf is the client that a login was made with. The secret of one that was
// registered beforehand stands in the entry, not in the store.
func (c *Client) clientOf(l *login) registration {
	client := l.Client
	if client.ID == c.remote.ClientID {
		client.Secret = c.remote.ClientSecret
	}
	return client
}

// registered is the client that the user has registered.
func (c *Client) registered(iss *issuer) registration {
	r := registration{ID: c.remote.ClientID, Secret: c.remote.ClientSecret}
	switch {
	case r.Secret == "":
		r.Method = proveNone
	case len(iss.AuthMethods) > 0 && !slices.Contains(iss.AuthMethods, proveBasic) && slices.Contains(iss.AuthMethods, provePost):
		r.Method = provePost
	default:
		r.Method = proveBasic
	}
	return r
}

// register makes this client known to iss (RFC 7591).
func (c *Client) register(ctx context.Context, iss *issuer, redirect string) (registration, error) {
	method := proveNone
	for _, m := range []string{proveNone, proveBasic, provePost} {
		if slices.Contains(iss.AuthMethods, m) {
			method = m
			break
		}
	}
	body, err := json.Marshal(map[string]any{
		"client_name": "haft", "redirect_uris": []string{redirect}, "application_type": "native",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": method,
	})
	if err != nil {
		return registration{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, iss.Register, bytes.NewReader(body))
	if err != nil {
		return registration{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.client().Do(req)
	if err != nil {
		return registration{}, fmt.Errorf("register with the authorization server: %w", err)
	}
	defer resp.Body.Close()
	var answer struct {
		registration
		tokenError
	}
	if err := readAnswer(resp, &answer); err != nil {
		return registration{}, fmt.Errorf("register with the authorization server: %w", err)
	}
	if answer.ID == "" {
		answer.status = resp.StatusCode
		return registration{}, fmt.Errorf("register with the authorization server: %w", &answer.tokenError)
	}
	r := answer.registration
	r.Redirect = redirect
	if r.Method == "" {
		r.Method = method
		if r.Secret != "" && method == proveNone {
			r.Method = proveBasic // the standard's default
		}
	}
	return r, nil
}

// redeem makes the request, and once more if the server wants a nonce in the proof.
func (c *Client) redeem(ctx context.Context, x exchange) (*tokenAnswer, error) {
	answer, refusal, err := c.redeemOnce(ctx, x)
	if err == nil && refusal != nil && refusal.Code == "use_dpop_nonce" && x.key != nil {
		answer, refusal, err = c.redeemOnce(ctx, x)
	}
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusal
	}
	return answer, nil
}

func (c *Client) redeemOnce(ctx context.Context, x exchange) (*tokenAnswer, *tokenError, error) {
	req, err := c.tokenRequest(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.client().Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("ask the authorization server for a token: %w", err)
	}
	defer resp.Body.Close()
	c.nonces.learn(x.endpoint, resp)
	var answer struct {
		tokenAnswer
		tokenError
	}
	if err := readAnswer(resp, &answer); err != nil {
		return nil, nil, err
	}
	if answer.Access == "" || resp.StatusCode >= 300 {
		answer.status = resp.StatusCode
		return nil, &answer.tokenError, nil
	}
	return &answer.tokenAnswer, nil, nil
}

func (c *Client) tokenRequest(ctx context.Context, x exchange) (*http.Request, error) {
	form := make(url.Values, len(x.form)+3)
	for k, v := range x.form {
		form[k] = v
	}
	basic := false
	switch x.client.Method {
	case proveBasic:
		basic = true
	case proveJWT:
		assertion, err := c.remote.Machine.assertion(x.client.ID, x.issuer, c.opts.Now())
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
		form.Set("client_id", x.client.ID)
	default:
		if x.client.ID != "" {
			form.Set("client_id", x.client.ID)
		}
		if x.client.Secret != "" && x.client.Method != proveNone {
			form.Set("client_secret", x.client.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if basic {
		req.SetBasicAuth(url.QueryEscape(x.client.ID), url.QueryEscape(x.client.Secret))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if x.key != nil {
		proof, err := x.key.prove(http.MethodPost, x.endpoint, "", c.nonces.of(x.endpoint), c.opts.Now())
		if err != nil {
			return nil, err
		}
		req.Header.Set("DPoP", proof)
	}
	return req, nil
}

// Transport authorises what goes through base; nil means http.DefaultTransport. A
// request that brings its own Authorization is left alone. A request that only a
// person's login can help fails with a [LoginError].
func (c *Client) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{c, base}
}

// helps reports whether a login in the middle of a request could settle err.
func (c *Client) helps(err error) bool {
	var login *LoginError
	return errors.As(err, &login) && (c.opts.UserAgent != nil || c.remote.Machine != nil)
}

// other returns a usable login that another process has made since, which is how
// most people answer a [LoginError]; nil if there is none.
func (c *Client) other(stale string) *login {
	l, err := c.store.read(c.key())
	if err != nil || !c.usable(l, stale) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unsaved != nil {
		return nil // what is on disk is older than what we have
	}
	c.known = l
	return l
}

// remember keeps what the server asked for, so that the next login can ask for it.
func (c *Client) remember(ctx context.Context, ch challenge) {
	if len(ch.scopes) == 0 && ch.metadata == "" {
		return
	}
	_, err := c.store.change(ctx, c.key(), c.remote.URL, func(l *login) error {
		l.Wanted, l.Metadata = ch.scopes, ch.metadata
		return nil
	})
	_ = err // the login asks the server again anyway
}

// storeKey names the folder of a login.
func storeKey(server, client string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + client))
	return hex.EncodeToString(sum[:12])
}
