// Command authclient logs in for the authorization scenarios of the MCP
// conformance suite, by package mcp/oauth.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/mcp/oauth"
)

func main() {
	if err := run(context.Background(), os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, server string) error {
	dir, err := os.MkdirTemp("", "haft-logins-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	c, err := oauth.New(remote(scenario, server), oauth.NewStore(dir), &oauth.Options{
		UserAgent: func(int) (oauth.UserAgent, error) { return browser{}, nil },
	})
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "haft", Version: "conformance"}, nil)
	s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server, HTTPClient: &http.Client{Transport: c.Transport(nil)}}, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.ListTools(ctx, nil); err != nil {
		return err
	}
	_, err = s.CallTool(ctx, &mcp.CallToolParams{Name: "test-tool", Arguments: map[string]any{}})
	return err
}

// remote is the entry that the scenario describes.
func remote(scenario, server string) oauth.Remote {
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Key          string `json:"private_key_pem"`
		IDPClient    string `json:"idp_client_id"`
		IDToken      string `json:"idp_id_token"`
		IDPTokens    string `json:"idp_token_endpoint"`
		WorkloadJWT  string `json:"valid_jwt"`
	}
	json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given)
	r := oauth.Remote{
		Name: "conformance", URL: server, ClientID: given.ClientID, ClientSecret: given.ClientSecret,
		ClientDocument: "https://conformance-test.local/client-metadata.json",
		DPoP:           strings.HasPrefix(scenario, "auth/dpop"),
	}
	switch scenario {
	case "auth/client-credentials-jwt", "auth/client-credentials-basic":
		r.Machine = &oauth.Machine{Key: given.Key}
	case "auth/wif-jwt-bearer":
		r.Machine = &oauth.Machine{Assertion: func(context.Context, string) (string, error) { return given.WorkloadJWT, nil }}
	case "auth/enterprise-managed-authorization":
		r.Machine = &oauth.Machine{Company: &oauth.Company{
			TokenEndpoint: given.IDPTokens, ClientID: given.IDPClient,
			IDToken: func(context.Context) (string, error) { return given.IDToken, nil },
		}}
	}
	return r
}

// browser is a person who agrees at once.
type browser struct{}

func (browser) RedirectURL() string { return "http://localhost:3000/callback" }
func (browser) Close() error        { return nil }

func (browser) Visit(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	if resp.Header.Get("Location") == "" {
		return "", errors.New("the page sends the browser nowhere")
	}
	return resp.Header.Get("Location"), nil
}
