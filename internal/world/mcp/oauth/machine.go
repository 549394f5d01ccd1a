package oauth

import (
	"context"
	"crypto/rand"
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
