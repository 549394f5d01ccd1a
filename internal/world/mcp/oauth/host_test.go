package oauth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/oauth"
)

func TestEntriesSayHowToLogIn(t *testing.T) {
	t.Setenv("HAFT_TEST_SECRET", "s3cret")
	server := func(oauth string) mcp.Server {
		return mcp.Server{Name: "s", URL: "https://mcp.example/", OAuth: json.RawMessage(oauth)}
	}
	for _, tt := range []struct {
		name, oauth string
		want        oauth.Remote
	}{
		{"nothing", ``, oauth.Remote{}},
		{"a registered client", `{"clientId":"c","clientSecret":"${HAFT_TEST_SECRET}","callbackPort":8080}`,
			oauth.Remote{ClientID: "c", ClientSecret: "s3cret", CallbackPort: 8080}},
		{"scopes as a list", `{"scopes":["a","b"]}`, oauth.Remote{Scopes: []string{"a", "b"}}},
		{"scopes as a text", `{"scopes":"a b"}`, oauth.Remote{Scopes: []string{"a", "b"}}},
		{"the rest", `{"authServerMetadataUrl":"https://as.example/m","clientMetadataUrl":"https://c.example/d","dpop":true}`,
			oauth.Remote{MetadataURL: "https://as.example/m", ClientDocument: "https://c.example/d", DPoP: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Name, tt.want.URL = "s", "https://mcp.example/"
			got, err := oauth.FromEntry(server(tt.oauth))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("remote (-want +got):\n%s", diff)
			}
		})
	}
	for _, bad := range []string{`[]`, `{"scopes":5}`, `{"clientSecret":"${HAFT_TEST_UNSET_VARIABLE}"}`} {
		if r, err := oauth.FromEntry(server(bad)); err == nil {
			t.Errorf("%s became %+v", bad, r)
		}
	}
}

func TestEntriesSayHowProgramsLogIn(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pemText := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	keyFile, passwords := write("key.pem", pemText), write("passwords", "root:x:0:0")
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"me"}`)) + ".sig"
	tokenFile := write("token", token+"\n")
	from := func(text string) (oauth.Remote, error) {
		text = strings.NewReplacer("KEY", keyFile, "TOKEN", tokenFile, "PASSWORDS", passwords).Replace(text)
		return oauth.FromEntry(mcp.Server{Name: "s", URL: "https://mcp.example/", OAuth: json.RawMessage(text)})
	}
	if r, err := from(`{"grant":"client-credentials","clientId":"c","clientSecret":"s"}`); err != nil || r.Machine == nil || r.Machine.Key != "" || r.ClientSecret != "s" {
		t.Errorf("a secret: %+v, %v", r, err)
	}
	if r, err := from(`{"grant":"client-credentials","clientId":"c","privateKeyFile":"KEY"}`); err != nil || r.Machine == nil || r.Machine.Key != pemText {
		t.Errorf("a key: %+v, %v", r, err)
	}
	if r, err := from(`{"grant":"workload-identity","clientId":"c","assertionFile":"TOKEN"}`); err != nil {
		t.Error(err)
	} else if got, err := r.Machine.Assertion(t.Context(), ""); err != nil || got != token {
		t.Errorf("an assertion: %q, %v", got, err)
	}
	if r, err := from(`{"grant":"enterprise","clientId":"c","identityProvider":{"tokenEndpoint":"https://idp.example/token","clientId":"i","idTokenFile":"TOKEN"}}`); err != nil {
		t.Error(err)
	} else if got, err := r.Machine.Company.IDToken(t.Context()); err != nil || got != token || r.Machine.Company.ClientID != "i" {
		t.Errorf("an identity: %q, %v", got, err)
	}
	if r, err := from(`{"grant":"workload-identity","clientId":"c","assertionFile":"PASSWORDS"}`); err != nil {
		t.Error(err)
	} else if got, err := r.Machine.Assertion(t.Context(), ""); err == nil || strings.Contains(err.Error(), "root") {
		t.Errorf("a file that holds no token would be sent: %q, %v", got, err)
	}
	for bad, want := range map[string]string{
		`{"grant":"password","clientId":"c"}`:                                                           `unknown grant "password"`,
		`{"grant":"client-credentials","clientSecret":"s"}`:                                             "needs a clientId",
		`{"grant":"client-credentials","clientId":"c"}`:                                                 "needs either a clientSecret or a privateKey",
		`{"grant":"client-credentials","clientId":"c","clientSecret":"s","privateKeyFile":"KEY"}`:       "needs either",
		`{"grant":"client-credentials","clientId":"c","privateKeyFile":"PASSWORDS"}`:                    "not in PEM",
		`{"grant":"client-credentials","clientId":"c","privateKeyFile":"key.pem"}`:                      "relative path",
		`{"clientId":"c","privateKeyFile":"KEY"}`:                                                       `set "grant": "client-credentials"`,
		`{"grant":"client-credentials","clientId":"c","clientSecret":"s","assertionFile":"TOKEN"}`:      `set "grant": "workload-identity"`,
		`{"grant":"workload-identity","clientId":"c"}`:                                                  "needs an assertion",
		`{"grant":"enterprise","clientId":"c","identityProvider":{"tokenEndpoint":"https://idp.test"}}`: "needs an identityProvider with",
	} {
		if r, err := from(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", bad, r, err, want)
		}
	}
}

func TestHostIsToldThatALoginIsNeeded(t *testing.T) {
	f := newFakeServer(t)
	logins := &oauth.Logins{Store: oauth.NewStore(t.TempDir())}
	rt, err := logins.Transport(mcp.Server{Name: "fake", URL: f.endpoint()}, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&http.Client{Transport: rt}).Post(f.endpoint(), "application/json", strings.NewReader("{}"))
	if !errors.Is(err, mcp.ErrNeedsAuth) {
		t.Errorf("error %v", err)
	}
	for _, own := range []mcp.Server{
		{Name: "fake", URL: f.endpoint(), Headers: map[string]string{"authorization": "Bearer own"}},
		{Name: "fake", URL: f.endpoint(), HeadersHelper: "print"},
	} {
		if rt, err := logins.Transport(own, http.DefaultTransport); err != nil || rt != http.DefaultTransport {
			t.Errorf("an entry with credentials of its own is not left alone: %v", err)
		}
	}
}
