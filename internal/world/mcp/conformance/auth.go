package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/oauth"
)

// credentials are what the suite hands to scenarios that do not register.
type credentials struct {
	ClientID      string `json:"client_id"`
	ClientSecret  string `json:"client_secret"`
	PrivateKey    string `json:"private_key_pem"`
	ValidJWT      string `json:"valid_jwt"`
	IDPClient     string `json:"idp_client_id"`
	IDPToken      string `json:"idp_id_token"`
	TokenEndpoint string `json:"idp_token_endpoint"`
}

// An account logs in to the suite's servers.
type account struct {
	scenario string
	facts    credentials
	dir      string // of the store
}

// Transport implements [mcp.Auth].
func (a account) Transport(s mcp.Server, base http.RoundTripper) (http.RoundTripper, error) {
	remote := oauth.Remote{
		Name: s.Name, URL: s.URL, ClientID: a.facts.ClientID, ClientSecret: a.facts.ClientSecret,
		ClientDocument: "https://conformance-test.local/client-metadata.json",
		DPoP:           strings.HasPrefix(a.scenario, "auth/dpop"),
	}
	switch a.scenario {
	case "auth/client-credentials-jwt":
		remote.Machine = &oauth.Machine{Key: a.facts.PrivateKey}
	case "auth/client-credentials-basic":
		remote.Machine = &oauth.Machine{}
	case "auth/wif-jwt-bearer":
		remote.Machine = &oauth.Machine{Assertion: func(context.Context, string) (string, error) { return a.facts.ValidJWT, nil }}
	case "auth/enterprise-managed-authorization", "auth/cross-app-access-complete-flow": // as the suite called it before 0.2
		remote.Machine = &oauth.Machine{Company: &oauth.Company{
			TokenEndpoint: a.facts.TokenEndpoint, ClientID: a.facts.IDPClient,
			IDToken: func(context.Context) (string, error) { return a.facts.IDPToken, nil },
		}}
	}
	client, err := oauth.New(remote, oauth.NewStore(a.dir), &oauth.Options{
		UserAgent: func(int) (oauth.UserAgent, error) { return browser{}, nil },
	})
	if err != nil {
		return nil, err
	}
	return needsAuth{client.Transport(base)}, nil
}

// needsAuth tells the host what a failed login means.
type needsAuth struct{ base http.RoundTripper }

func (n needsAuth) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.base.RoundTrip(req)
	var login *oauth.LoginError
	if errors.As(err, &login) {
		err = fmt.Errorf("%w: %w", mcp.ErrNeedsAuth, err)
	}
	return resp, err
}

// A browser is a user who agrees to everything: the suite's pages send it
// straight back.
type browser struct{}

func (browser) RedirectURL() string { return "http://127.0.0.1:3000/callback" }
func (browser) Close() error        { return nil }

func (browser) Visit(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.Header.Get("Location"), nil
}
