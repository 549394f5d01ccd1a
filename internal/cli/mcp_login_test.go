package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/cli"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// loginServer is an MCP server that lets in whoever it gave a token.
func loginServer(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	say := func(path string, v any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(v)
		})
	}
	say("/.well-known/oauth-protected-resource/mcp", map[string]any{"resource": web.URL + "/mcp", "authorization_servers": []string{web.URL}})
	say("/.well-known/oauth-authorization-server", map[string]any{
		"issuer": web.URL, "authorization_endpoint": web.URL + "/authorize", "token_endpoint": web.URL + "/token",
		"registration_endpoint": web.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
	})
	say("/register", map[string]any{"client_id": "c"})
	say("/token", map[string]any{"access_token": "s3cret", "refresh_token": "r3fresh", "token_type": "Bearer", "scope": "tools"})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=x&state="+q.Get("state"), http.StatusFound)
	})
	server := sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "hello", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	tools := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	})
	return web
}

// visitor is a user who reads standard error and opens what it names.
type visitor struct {
	mu   sync.Mutex
	text bytes.Buffer
	once sync.Once
}

var pageAddress = regexp.MustCompile(`(?m)^ +(http\S+)$`)

func (v *visitor) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text.Write(p)
	if m := pageAddress.FindStringSubmatch(v.text.String()); m != nil {
		v.once.Do(func() {
			go func() {
				if resp, err := http.Get(m[1]); err == nil {
					resp.Body.Close()
				}
			}()
		})
	}
	return len(p), nil
}

// TestMCPLogin follows what haft itself tells a user: the list says to log in,
// login shows a page, and the list is content.
func TestMCPLogin(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home+"/config")
	t.Setenv("XDG_CACHE_HOME", home+"/cache")
	t.Chdir(t.TempDir())
	web := loginServer(t)
	haft := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		errs := new(visitor)
		if code := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: errs}, shellrun.Reexec{}); code != 0 {
			t.Fatalf("%v: exit %d: %s%s", args, code, out.String(), errs.text.String())
		}
		if strings.Contains(out.String()+errs.text.String(), "s3cret") {
			t.Errorf("%v shows a token", args)
		}
		return out.String()
	}
	haft("mcp", "add", "remote", web.URL+"/mcp")
	if got := haft("mcp", "list"); !strings.Contains(got, "needs-auth") || !strings.Contains(got, "haft mcp login remote") {
		t.Errorf("before: %s", got)
	}
	if got := haft("mcp", "login", "remote", "--no-browser"); got != "remote: logged in at "+web.URL+"\n" {
		t.Errorf("login: %q", got)
	}
	if got := haft("mcp", "get", "remote"); !strings.Contains(got, "connected") || !strings.Contains(got, "mcp__remote__hello") || !strings.Contains(got, "at "+web.URL+" tools") {
		t.Errorf("after: %s", got)
	}
	haft("mcp", "logout", "remote")
	if got := haft("mcp", "list"); !strings.Contains(got, "needs-auth") {
		t.Errorf("after the logout: %s", got)
	}
}
