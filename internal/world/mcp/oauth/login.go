package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
)

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

// errNobody means that a user is needed and none can be reached.
var errNobody = errors.New("no user can be asked to log in here")
