package cloud

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/model"
)

// VertexOptions say where to ask and as whom.
type VertexOptions struct {
	Project, Region string
	// Base is the address of the service with its version; "" means that of the region.
	Base string
	// Token returns an access token; nil sends none.
	Token func(context.Context) (string, error)
}

// VertexServer is the address of the service for a region, for the regions us and eu that have
// several, or for global.
func VertexServer(region string) string {
	switch region {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + region + ".rep.googleapis.com"
	}
	return "https://" + region + "-aiplatform.googleapis.com"
}

// Vertex is the route to Vertex AI of Google Cloud.
func Vertex(o *VertexOptions) Route {
	return Route{
		URL: func(r *request) (string, error) {
			base := strings.TrimRight(cmp.Or(o.Base, VertexServer(o.Region)+"/v1"), "/")
			model := dated.ReplaceAllString(r.Model, "$1@$2")
			return fmt.Sprintf("%s/projects/%s/locations/%s/publishers/anthropic/models/%s:streamRawPredict", base, segment(o.Project), segment(o.Region), strings.ReplaceAll(segment(model), "%40", "@")),
				r.set("anthropic_version", "vertex-2023-10-16")
		},
		Sign: func(ctx context.Context, r *http.Request, _ []byte) error {
			r.Header.Del("X-Api-Key") // that of another server
			r.Header.Del("Authorization")
			if o.Token == nil {
				return nil
			}
			token, err := o.Token(ctx)
			if err == nil {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			return err
		},
	}
}

// A GoogleToken gets access tokens for what a credentials file describes, and keeps each
// until shortly before its end. It is safe for concurrent use.
type GoogleToken struct {
	// Path is the file; see [GoogleCredentials].
	Path string
	// HTTP makes the connections.
	HTTP http.RoundTripper

	mu    sync.Mutex
	token string
	until time.Time
}

// GoogleCredentials is the file that the environment or gcloud's own login names.
func GoogleCredentials(getenv func(string) string, home string) string {
	return cmp.Or(getenv("GOOGLE_APPLICATION_CREDENTIALS"), filepath.Join(cmp.Or(getenv("CLOUDSDK_CONFIG"), filepath.Join(home, ".config", "gcloud")), "application_default_credentials.json"))
}

// credentials are those of a service account or of a user.
type credentials struct {
	Type         string `json:"type"`
	Email        string `json:"client_email"`
	Key          string `json:"private_key"`
	KeyID        string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Refresh      string `json:"refresh_token"`
}

// Token returns a token that is still valid.
func (g *GoogleToken) Token(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token != "" && time.Now().Before(g.until) {
		return g.token, nil
	}
	var c credentials
	text, err := os.ReadFile(g.Path)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return "", noLogin("could not log in to Vertex AI: %w. Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a service account's key file", err)
	}
	form, err := c.form(time.Now())
	if err != nil {
		return "", noLogin("could not log in to Vertex AI with %s: %w", g.Path, err)
	}
	reply, err := g.exchange(ctx, cmp.Or(c.TokenURI, "https://oauth2.googleapis.com/token"), form)
	if _, refused := errors.AsType[*model.Error](err); err != nil && !refused {
		err = fmt.Errorf("could not log in to Vertex AI with %s: %w", g.Path, err)
	}
	if err != nil {
		return "", err
	}
	g.token, g.until = reply.Token, time.Now().Add(time.Duration(reply.Seconds)*time.Second-time.Minute)
	return g.token, nil
}

// form is what is sent for a token.
func (c *credentials) form(now time.Time) (url.Values, error) {
	switch c.Type {
	case "service_account":
		assertion, err := c.assertion(now)
		return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}, err
	case "authorized_user":
		return url.Values{"grant_type": {"refresh_token"}, "client_id": {c.ClientID}, "client_secret": {c.ClientSecret}, "refresh_token": {c.Refresh}}, nil
	}
	return nil, fmt.Errorf("credentials of type %q are not supported: use a service account's key, or run: gcloud auth application-default login", c.Type)
}

// assertion is a signed statement of a service account.
func (c *credentials) assertion(now time.Time) (string, error) {
	block, _ := pem.Decode([]byte(c.Key))
	if block == nil {
		return "", errors.New("it has no private key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("its private key cannot be read: %w", err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return "", errors.New("its private key is not an RSA key")
	}
	part := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(map[string]string{"alg": "RS256", "typ": "JWT", "kid": c.KeyID}) + "." + part(map[string]any{
		"iss": c.Email, "scope": "https://www.googleapis.com/auth/cloud-platform", "aud": cmp.Or(c.TokenURI, "https://oauth2.googleapis.com/token"),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

type tokenReply struct {
	Token   string `json:"access_token"`
	Seconds int    `json:"expires_in"`
	Error   string `json:"error"`
	About   string `json:"error_description"`
}

// exchange asks for a token. The address is one of the user's own credentials file.
func (g *GoogleToken) exchange(ctx context.Context, address string, form url.Values) (reply tokenReply, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return reply, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := g.HTTP.RoundTrip(r)
	if err != nil {
		return reply, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil {
		err = json.Unmarshal(text, &reply)
	}
	if err == nil && reply.Token == "" {
		err = noLogin("could not log in to Vertex AI with %s: %s answered with status %d: %s", g.Path, r.URL.Host, resp.StatusCode, cmp.Or(reply.About, reply.Error, "no token"))
	}
	return reply, err
}
