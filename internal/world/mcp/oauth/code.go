package oauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

// A UserAgent takes a user to a page of an authorization server. [Loopback] is
// one that works with any browser on this machine.
type UserAgent interface {
	// RedirectURL is where the page sends the browser back to.
	RedirectURL() string
	// Visit takes the user to page, and returns the address that the browser was
	// sent back to.
	Visit(ctx context.Context, page string) (back string, err error)
	// Close ends waiting for the browser.
	Close() error
}

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
