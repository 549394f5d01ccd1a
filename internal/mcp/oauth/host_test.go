package oauth_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/mcp/oauth"
	"github.com/haftdev/haft/mcp"
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
