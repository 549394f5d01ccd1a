package oauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
)

// An entry is what stands under the key oauth of a server's entry.
type entry struct {
	ClientID       string          `json:"clientId"`
	ClientSecret   string          `json:"clientSecret"`
	ClientDocument string          `json:"clientMetadataUrl"`
	MetadataURL    string          `json:"authServerMetadataUrl"`
	Scopes         json.RawMessage `json:"scopes"`
	CallbackPort   int             `json:"callbackPort"`
	DPoP           bool            `json:"dpop"`

	// Grant is how a program logs in by itself; "" means that the user logs in. The
	// fields after it are of single grants.
	Grant            string    `json:"grant"`
	PrivateKey       string    `json:"privateKey"`
	PrivateKeyFile   string    `json:"privateKeyFile"`
	Assertion        string    `json:"assertion"`
	AssertionFile    string    `json:"assertionFile"`
	IdentityProvider *provider `json:"identityProvider"`
}

// A provider is the identity provider of a company.
type provider struct {
	TokenEndpoint string `json:"tokenEndpoint"`
	ClientID      string `json:"clientId"`
	IDToken       string `json:"idToken"`
	IDTokenFile   string `json:"idTokenFile"`
}

// The grants that need no user.
const (
	clientCredentials = "client-credentials"
	workloadIdentity  = "workload-identity"
	enterprise        = "enterprise"
)

// FromEntry returns what an entry says about logging in, under its key oauth, with
// variables filled in.
func FromEntry(s mcp.Server) (Remote, error) {
	r := Remote{Name: s.Name, URL: s.URL}
	if len(s.OAuth) == 0 {
		return r, nil
	}
	var given entry
	if err := json.Unmarshal(s.OAuth, &given); err != nil {
		return r, fmt.Errorf("cannot use \"oauth\" of the MCP server %q: %w", s.Name, err)
	}
	for _, text := range given.texts() {
		filled, missing := config.Expand(*text, os.LookupEnv)
		if len(missing) > 0 {
			return r, fmt.Errorf("cannot use \"oauth\" of the MCP server %q: the variable %s is not set", s.Name, missing[0])
		}
		*text = filled
	}
	r.ClientID, r.ClientSecret, r.ClientDocument = given.ClientID, given.ClientSecret, given.ClientDocument
	r.MetadataURL, r.CallbackPort, r.DPoP = given.MetadataURL, given.CallbackPort, given.DPoP
	var err error
	if r.Scopes, err = scopeList(given.Scopes); err != nil {
		return r, fmt.Errorf("cannot use \"oauth.scopes\" of the MCP server %q: %w", s.Name, err)
	}
	if r.Machine, err = given.machine(); err != nil {
		return r, fmt.Errorf("cannot use \"oauth\" of the MCP server %q: %w", s.Name, err)
	}
	return r, nil
}

// texts are the fields that may have variables.
func (e *entry) texts() []*string {
	all := []*string{
		&e.ClientID, &e.ClientSecret, &e.ClientDocument, &e.MetadataURL,
		&e.PrivateKey, &e.PrivateKeyFile, &e.Assertion, &e.AssertionFile,
	}
	if p := e.IdentityProvider; p != nil {
		all = append(all, &p.TokenEndpoint, &p.ClientID, &p.IDToken, &p.IDTokenFile)
	}
	return all
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

// machine is how the program logs in by itself; nil if the user does. A key of another
// grant is an error: whoever wrote it expects that it counts.
func (e *entry) machine() (*Machine, error) {
	key := e.PrivateKey != "" || e.PrivateKeyFile != ""
	token := e.Assertion != "" || e.AssertionFile != ""
	for _, field := range []struct {
		given bool
		name  string
		grant string
	}{
		{key, "privateKey", clientCredentials}, {token, "assertion", workloadIdentity}, {e.IdentityProvider != nil, "identityProvider", enterprise},
	} {
		if field.given && e.Grant != field.grant {
			return nil, fmt.Errorf("%s is for the grant %q: set \"grant\": %q", field.name, field.grant, field.grant)
		}
	}
	if e.Grant != "" && e.ClientID == "" {
		return nil, fmt.Errorf("the grant %q needs a clientId", e.Grant)
	}
	switch e.Grant {
	case "":
		return nil, nil
	case clientCredentials:
		return e.credentials(key)
	case workloadIdentity:
		if !token {
			return nil, fmt.Errorf("the grant %q needs an assertion or an assertionFile", e.Grant)
		}
		return &Machine{Assertion: func(context.Context, string) (string, error) { return webToken(e.Assertion, e.AssertionFile) }}, nil
	case enterprise:
		p := e.IdentityProvider
		if p == nil || p.TokenEndpoint == "" || p.ClientID == "" || p.IDToken == "" && p.IDTokenFile == "" {
			return nil, fmt.Errorf("the grant %q needs an identityProvider with a tokenEndpoint, a clientId, and an idToken or an idTokenFile", e.Grant)
		}
		return &Machine{Company: &Company{TokenEndpoint: p.TokenEndpoint, ClientID: p.ClientID, IDToken: func(context.Context) (string, error) { return webToken(p.IDToken, p.IDTokenFile) }}}, nil
	}
	return nil, fmt.Errorf("unknown grant %q: use %s, %s or %s", e.Grant, clientCredentials, workloadIdentity, enterprise)
}

// credentials are those of a client that proves itself by a secret or by a key.
func (e *entry) credentials(key bool) (*Machine, error) {
	switch {
	case key == (e.ClientSecret != ""):
		return nil, fmt.Errorf("the grant %q needs either a clientSecret or a privateKey", e.Grant)
	case !key:
		return &Machine{}, nil
	}
	text, err := given(e.PrivateKey, e.PrivateKeyFile)
	if err != nil {
		return nil, err
	}
	if _, err := parseKey(text); err != nil {
		return nil, err
	}
	return &Machine{Key: text}, nil
}

// webToken is a token that another program made, which it may renew at any time. Only what
// looks like a web token is sent anywhere, whatever file an entry names.
func webToken(text, file string) (string, error) {
	text, err := given(text, file)
	if err != nil {
		return "", err
	}
	text = strings.TrimSpace(text)
	head, rest, _ := strings.Cut(text, ".")
	claims, _, signed := strings.Cut(rest, ".")
	for _, part := range []string{head, claims} {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || !signed || !bytes.HasPrefix(raw, []byte("{")) {
			return "", fmt.Errorf("%s is not a JSON web token", cmp.Or(file, "the assertion in the entry"))
		}
	}
	return text, nil
}

// maxSecret bounds a file that holds a key or a token.
const maxSecret = 64 << 10

// given is a text of the entry, or what is in the file that it names.
func given(text, file string) (string, error) {
	if file == "" {
		return text, nil
	}
	if text != "" {
		return "", fmt.Errorf("a value is given both as text and as the file %s: remove one of them", file)
	}
	if rest, home := strings.CutPrefix(file, "~/"); home {
		dir, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		file = filepath.Join(dir, rest)
	}
	if !filepath.IsAbs(file) {
		return "", fmt.Errorf("%s is a relative path: write an absolute path, or one that starts with ~/", file)
	}
	raw, err := regular.Read(file, maxSecret)
	return string(raw), err
}
