package oauth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/mcp/config"
)

// Logins authorise the requests of a host: they are its [mcp.Auth].
type Logins struct {
	Store   *Store
	Options *Options // of the clients; nil means none
}

// Transport authorises requests to a server, unless its entry brings credentials
// of its own.
func (l *Logins) Transport(s mcp.Server, base http.RoundTripper) (http.RoundTripper, error) {
	if s.HeadersHelper != "" {
		return base, nil
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return base, nil
		}
	}
	c, err := l.Client(s)
	if err != nil {
		return nil, err
	}
	return c.Transport(base), nil
}

// Client returns the account at a server.
func (l *Logins) Client(s mcp.Server) (*Client, error) {
	remote, err := FromEntry(s)
	if err != nil {
		return nil, err
	}
	return New(remote, l.Store, l.Options)
}

// FromEntry returns what an entry says about logging in, under its key oauth, with
// variables filled in.
func FromEntry(s mcp.Server) (Remote, error) {
	r := Remote{Name: s.Name, URL: s.URL}
	if len(s.OAuth) == 0 {
		return r, nil
	}
	var given struct {
		ClientID       string          `json:"clientId"`
		ClientSecret   string          `json:"clientSecret"`
		ClientDocument string          `json:"clientMetadataUrl"`
		MetadataURL    string          `json:"authServerMetadataUrl"`
		Scopes         json.RawMessage `json:"scopes"`
		CallbackPort   int             `json:"callbackPort"`
		DPoP           bool            `json:"dpop"`
	}
	if err := json.Unmarshal(s.OAuth, &given); err != nil {
		return r, fmt.Errorf("read oauth of the MCP server %q: %w", s.Name, err)
	}
	for _, text := range []*string{&given.ClientID, &given.ClientSecret, &given.ClientDocument, &given.MetadataURL} {
		filled, missing := config.Expand(*text, os.LookupEnv)
		if len(missing) > 0 {
			return r, fmt.Errorf("read oauth of the MCP server %q: the variable %s is not set", s.Name, missing[0])
		}
		*text = filled
	}
	r.ClientID, r.ClientSecret, r.ClientDocument = given.ClientID, given.ClientSecret, given.ClientDocument
	r.MetadataURL, r.CallbackPort, r.DPoP = given.MetadataURL, given.CallbackPort, given.DPoP
	var err error
	if r.Scopes, err = scopeList(given.Scopes); err != nil {
		return r, fmt.Errorf("read oauth.scopes of the MCP server %q: %w", s.Name, err)
	}
	return r, nil
}

// scopeList reads a list, or a text with spaces as OAuth writes it.
func scopeList(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.Fields(text), nil
	}
	var list []string
	err := json.Unmarshal(raw, &list)
	return list, err
}
