package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A resource is what a server says of itself (RFC 9728).
type resource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported"`
	DPoPRequired         bool     `json:"dpop_bound_access_tokens_required"`

	assumed bool // the server says nothing; the oldest revision's rules hold
}

// An issuer is what an authorization server says of itself (RFC 8414).
type issuer struct {
	Issuer          string   `json:"issuer"`
	Authorize       string   `json:"authorization_endpoint"`
	Token           string   `json:"token_endpoint"`
	Register        string   `json:"registration_endpoint"`
	Revoke          string   `json:"revocation_endpoint"`
	Scopes          []string `json:"scopes_supported"`
	AuthMethods     []string `json:"token_endpoint_auth_methods_supported"`
	Challenges      []string `json:"code_challenge_methods_supported"`
	ClientDocuments bool     `json:"client_id_metadata_document_supported"`
	NamesItself     bool     `json:"authorization_response_iss_parameter_supported"`

	assumed bool // it says nothing; the oldest revision's endpoints hold
}

// proves reports whether the authorization server checks that whoever redeems a
// code is the one that asked for it. One that says nothing of itself is believed
// to, for lack of anything better.
func (i *issuer) proves() bool { return i.assumed || slices.Contains(i.Challenges, "S256") }

// checkName compares who answers with who was asked (RFC 9207), to the letter.
func (i *issuer) checkName(q url.Values) error {
	name := q.Get("iss")
	switch {
	case name == i.Issuer:
		return nil
	case q.Has("iss"):
		return fmt.Errorf("the answer came from the authorization server %q instead of %q", printable(name), i.Issuer)
	case i.NamesItself:
		return fmt.Errorf("the authorization server %s did not identify itself in its answer, although its metadata says that it would", i.Issuer)
	}
	return nil
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

// below reports whether path is at or under base.
func below(path, base string) bool {
	base = strings.TrimSuffix(base, "/")
	rest, ok := strings.CutPrefix(path, base)
	return ok && (rest == "" || rest[0] == '/')
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

// issuerPlaces are the addresses of an issuer's description, by the newest rule first.
func issuerPlaces(name string) []string {
	u, err := url.Parse(name)
	if err != nil {
		return nil
	}
	host, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{host + "/.well-known/oauth-authorization-server" + path, host + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, host+path+"/.well-known/openid-configuration")
	}
	return places
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
