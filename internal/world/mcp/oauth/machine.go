package oauth

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"time"
)

// A Machine is how a program logs in by itself, as the [Remote]'s client. Without
// any field it uses its client secret.
type Machine struct {
	// Key is a private key in PEM, with which the client proves itself instead of
	// a secret.
	Key string
	// Assertion returns the token that the program's platform made for it, which
	// stands for it at the authorization server named by audience; nil means none.
	Assertion func(ctx context.Context, audience string) (string, error)
	// Company is the identity provider that vouches for a user of a company; nil
	// means none.
	Company *Company
}

// assertion is the client's signed word that it is itself (RFC 7523).
func (m *Machine) assertion(client, audience string, now time.Time) (string, error) {
	key, err := parseKey(m.Key)
	if err != nil {
		return "", err
	}
	return sign(key, map[string]any{"typ": "JWT"}, map[string]any{
		"iss": client, "sub": client, "aud": audience, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	})
}

// A Company is an identity provider through which an administrator has allowed
// the server.
type Company struct {
	// TokenEndpoint is the provider's.
	TokenEndpoint string
	// ClientID is how the provider knows this client.
	ClientID string
	// IDToken returns the user's identity token.
	IDToken func(context.Context) (string, error)
}

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

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
