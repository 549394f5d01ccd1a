package oauth

import (
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

// below reports whether path is at or under base.
func below(path, base string) bool {
	base = strings.TrimSuffix(base, "/")
	rest, ok := strings.CutPrefix(path, base)
	return ok && (rest == "" || rest[0] == '/')
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
