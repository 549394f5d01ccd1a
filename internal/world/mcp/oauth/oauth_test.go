package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp/oauth"
)

// newClient is a client with nobody to ask.
func newClient(t *testing.T, f *fakeServer, dir string, opts *oauth.Options) *oauth.Client {
	t.Helper()
	c, err := oauth.New(oauth.Remote{Name: "fake", URL: f.endpoint()}, oauth.NewStore(dir), opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// browse is a user whose browser is on this machine and who agrees at once.
func browse(port int) (oauth.UserAgent, error) {
	return oauth.NewLoopback(port, func(page string) {
		go func() {
			if resp, err := http.Get(page); err == nil {
				resp.Body.Close()
			}
		}()
	}, nil)
}

func logIn(t *testing.T, c *oauth.Client) {
	t.Helper()
	if err := c.Login(t.Context(), browse); err != nil {
		t.Fatal(err)
	}
}

func post(ctx context.Context, c *oauth.Client, to string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(`{"jsonrpc":"2.0"}`))
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: c.Transport(nil)}).Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

func needsLogin(t *testing.T, err error) *oauth.LoginError {
	t.Helper()
	var login *oauth.LoginError
	if !errors.As(err, &login) {
		t.Fatalf("error %v, want a LoginError", err)
	}
	if !strings.HasSuffix(err.Error(), "Run: haft mcp login fake") {
		t.Errorf("error %q does not say what to run", err)
	}
	return login
}

func TestLoginThenRequest(t *testing.T) {
	f, dir := newFakeServer(t), t.TempDir()
	c := newClient(t, f, dir, nil)
	needsLogin(t, post(t.Context(), c, f.endpoint()))
	logIn(t, c)
	if err := post(t.Context(), c, f.endpoint()); err != nil {
		t.Fatal(err)
	}
	if err := post(t.Context(), newClient(t, f, dir, nil), f.endpoint()); err != nil {
		t.Errorf("another process: %v", err)
	}
	state, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	want := oauth.State{LoggedIn: true, Issuer: f.URL, Renewable: true}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestFilesAreForThePersonOnly(t *testing.T) {
	f, dir := newFakeServer(t), filepath.Join(t.TempDir(), "logins")
	logIn(t, newClient(t, f, dir, nil))
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if !d.IsDir() {
			files++
		}
		return nil
	})
	if err != nil || files != 1 {
		t.Errorf("%d files, error %v", files, err)
	}
}

func TestRefusedTokenIsRefreshedOnce(t *testing.T) {
	f := newFakeServer(t)
	c := newClient(t, f, t.TempDir(), nil)
	logIn(t, c)
	f.expire()
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if err := post(t.Context(), c, f.endpoint()); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if f.state().refreshes != 1 || f.state().stolen != 0 {
		t.Errorf("%d refreshes, %d of a spent token; want one", f.state().refreshes, f.state().stolen)
	}
}

func TestTroubleKeepsTheLogin(t *testing.T) {
	f := newFakeServer(t)
	c := newClient(t, f, t.TempDir(), nil)
	logIn(t, c)
	f.expire()
	for _, status := range []int{500, 503, 429, 404} {
		f.set(func(s *fakeState) { s.broken = status })
		err := post(t.Context(), c, f.endpoint())
		var login *oauth.LoginError
		if err == nil || errors.As(err, &login) {
			t.Errorf("status %d: error %v, want one that asks for no login", status, err)
		}
	}
	f.set(func(s *fakeState) { s.broken = 0 })
	if err := post(t.Context(), c, f.endpoint()); err != nil {
		t.Errorf("after the trouble: %v", err)
	}
}

func TestOnlyTheAuthorizationServerEndsALogin(t *testing.T) {
	f, dir := newFakeServer(t), t.TempDir()
	c := newClient(t, f, dir, nil)
	logIn(t, c)
	f.expire()
	f.set(func(s *fakeState) { s.refresh = "another" })
	err := post(t.Context(), c, f.endpoint())
	if login := needsLogin(t, err); login.Reason != "the last login is no longer valid" {
		t.Errorf("reason %q", login.Reason)
	}
	if strings.Contains(err.Error(), "refresh-") {
		t.Errorf("the error shows a token: %v", err)
	}
	logIn(t, c)
	if err := post(t.Context(), c, f.endpoint()); err != nil {
		t.Error(err)
	}
	if f.state().clients != 1 {
		t.Errorf("registered %d times", f.state().clients)
	}
}

func TestCancelledRequestDoesNotLoseTheToken(t *testing.T) {
	f := newFakeServer(t)
	c := newClient(t, f, t.TempDir(), nil)
	logIn(t, c)
	f.expire()
	ctx, cancel := context.WithCancel(t.Context())
	f.set(func(s *fakeState) { s.onToken = func(url.Values) { cancel() } }) // the request is given up while its token is on its way
	if err := post(ctx, c, f.endpoint()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	f.set(func(s *fakeState) { s.onToken = nil })
	if err := post(t.Context(), c, f.endpoint()); err != nil {
		t.Error(err)
	}
	if f.state().refreshes != 1 || f.state().stolen != 0 {
		t.Errorf("%d refreshes, %d of a spent token", f.state().refreshes, f.state().stolen)
	}
}

func TestUnwritableStoreDoesNotLoseTheToken(t *testing.T) {
	f, dir := newFakeServer(t), t.TempDir()
	c := newClient(t, f, dir, nil)
	logIn(t, c)
	for range 3 {
		f.expire()
		f.set(func(s *fakeState) {
			s.onToken = func(url.Values) {
				entries, _ := os.ReadDir(dir)
				for _, e := range entries {
					os.RemoveAll(filepath.Join(dir, e.Name())) // under the feet of whoever writes there
				}
			}
		})
		if err := post(t.Context(), c, f.endpoint()); err != nil {
			t.Fatal(err)
		}
	}
	f.set(func(s *fakeState) { s.onToken = nil })
	f.expire()
	if err := post(t.Context(), c, f.endpoint()); err != nil {
		t.Fatal(err)
	}
	f.expire()
	if err := post(t.Context(), newClient(t, f, dir, nil), f.endpoint()); err != nil {
		t.Errorf("another process, after it could be written: %v", err)
	}
}

func TestDamagedFileNeedsALogin(t *testing.T) {
	f, dir := newFakeServer(t), t.TempDir()
	logIn(t, newClient(t, f, dir, nil))
	files, _ := filepath.Glob(filepath.Join(dir, "*", "login.json"))
	for _, text := range []string{`{"version": 1, "acc`, "\x00\x00\x00", `{"version": 99}`, `[]`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, f, dir, nil)
		needsLogin(t, post(t.Context(), c, f.endpoint()))
		logIn(t, c)
		if err := post(t.Context(), c, f.endpoint()); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMoreScopesAreAskedFor(t *testing.T) {
	f, dir := newFakeServer(t), t.TempDir()
	c := newClient(t, f, dir, nil)
	logIn(t, c)
	f.set(func(s *fakeState) { s.needs = "files:write" })
	login := needsLogin(t, post(t.Context(), c, f.endpoint()))
	if diff := cmp.Diff([]string{"files:write"}, login.Scopes); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	running := c
	c = newClient(t, f, dir, nil) // the login is another process
	logIn(t, c)
	if err := post(t.Context(), running, f.endpoint()); err != nil {
		t.Errorf("the process that was told to log in: %v", err)
	}
	if got := f.state().asked.Get("scope"); got != "files:write" {
		t.Errorf("asked for %q", got)
	}
	if err := post(t.Context(), c, f.endpoint()); err != nil {
		t.Error(err)
	}

	asking := newClient(t, f, dir, &oauth.Options{UserAgent: browse})
	f.set(func(s *fakeState) { s.needs = "admin" })
	if err := post(t.Context(), asking, f.endpoint()); err != nil {
		t.Error(err)
	}
	if got := f.state().asked.Get("scope"); got != "files:write admin" {
		t.Errorf("asked for %q, which drops what was granted", got)
	}
}

func TestServerThatIsNeverContentIsAskedTwiceAtMost(t *testing.T) {
	f := newFakeServer(t)
	visits := 0
	c := newClient(t, f, t.TempDir(), &oauth.Options{UserAgent: func(port int) (oauth.UserAgent, error) {
		visits++
		return browse(port)
	}})
	f.set(func(s *fakeState) {
		s.intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/mcp" || r.Header.Get("Authorization") == "" {
				return false
			}
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="s%d"`, visits))
			w.WriteHeader(http.StatusForbidden)
			return true
		}
	})
	needsLogin(t, post(t.Context(), c, f.endpoint()))
	if visits != 2 {
		t.Errorf("%d visits", visits)
	}
}

func TestTokensStayWithTheirServer(t *testing.T) {
	f := newFakeServer(t)
	seen := "not asked"
	other := newFakeServer(t)
	other.set(func(s *fakeState) {
		s.intercept = func(w http.ResponseWriter, r *http.Request) bool {
			seen = r.Header.Get("Authorization")
			return true
		}
	})
	c := newClient(t, f, t.TempDir(), nil)
	logIn(t, c)
	f.set(func(s *fakeState) {
		s.intercept = func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.endpoint(), http.StatusTemporaryRedirect)
			return true
		}
	})
	if err := post(t.Context(), c, f.endpoint()); err != nil {
		t.Fatal(err)
	}
	if seen != "" {
		t.Errorf("another server was sent %q", seen)
	}
}

func TestTokensAreNotSentInTheClear(t *testing.T) {
	f := newFakeServer(t)
	toFake := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, f.Listener.Addr().String())
	}}}
	c, err := oauth.New(oauth.Remote{Name: "fake", URL: "http://mcp.example/mcp"}, oauth.NewStore(t.TempDir()), &oauth.Options{HTTP: toFake})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Login(t.Context(), browse); err == nil || !strings.Contains(err.Error(), "only https is safe") {
		t.Errorf("error %v", err)
	}
}

func TestForeignResourceIsRefused(t *testing.T) {
	f := newFakeServer(t)
	for _, resource := range []string{"https://evil.example/mcp", f.URL + "/mcp/other", f.URL + "/mc", "not a url\x7f"} {
		f.set(func(s *fakeState) {
			s.intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
					return false
				}
				answer(w, 200, map[string]any{"resource": resource, "authorization_servers": []string{f.URL}})
				return true
			}
		})
		err := newClient(t, f, t.TempDir(), nil).Login(t.Context(), browse)
		if err == nil || !strings.Contains(err.Error(), "which is not the server") || f.state().asked != nil {
			t.Errorf("%s: error %v", resource, err)
		}
	}
}

func TestUnsafeAuthorizationServerIsRefused(t *testing.T) {
	f := newFakeServer(t)
	describe := map[string]any{}
	f.set(func(s *fakeState) {
		s.intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/.well-known/oauth-authorization-server" {
				return false
			}
			answer(w, 200, describe)
			return true
		}
	})
	for _, tt := range []struct {
		name string
		with map[string]any
		want string
	}{
		{"another issuer", map[string]any{"issuer": "https://evil.example"}, "describes the issuer"},
		{"plain http elsewhere", map[string]any{"token_endpoint": "http://evil.example/token"}, "only https is safe"},
		{"a script for a page", map[string]any{"authorization_endpoint": "javascript:alert(1)"}, "not an http or https URL"},
		{"no PKCE", map[string]any{"code_challenge_methods_supported": []string{"plain"}}, "no safe way to log in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			describe = map[string]any{
				"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token",
				"registration_endpoint": f.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			}
			for k, v := range tt.with {
				describe[k] = v
			}
			err := newClient(t, f, t.TempDir(), nil).Login(t.Context(), browse)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRegistrationIsKeptForItsAddress(t *testing.T) {
	f, dir := newFakeServer(t), t.TempDir()
	logIn(t, newClient(t, f, dir, nil))
	first := f.state().asked.Get("redirect_uri")
	logIn(t, newClient(t, f, dir, nil))
	if f.state().clients != 1 || f.state().asked.Get("redirect_uri") != first {
		t.Errorf("%d registrations, back to %s and then %s", f.state().clients, first, f.state().asked.Get("redirect_uri"))
	}
	u, _ := url.Parse(first)
	taken, err := net.Listen("tcp", u.Host)
	if err != nil {
		t.Skip(err)
	}
	defer taken.Close()
	logIn(t, newClient(t, f, dir, nil))
	if f.state().clients != 2 {
		t.Errorf("%d registrations after the port was taken", f.state().clients)
	}
}

func TestLogout(t *testing.T) {
	f := newFakeServer(t)
	c := newClient(t, f, t.TempDir(), nil)
	logIn(t, c)
	if was, err := c.Logout(t.Context()); err != nil || !was {
		t.Fatal(was, err)
	}
	if diff := cmp.Diff([]string{"refresh-2", "access-3"}, f.state().revoked); diff != "" {
		t.Errorf("revoked (-want +got):\n%s", diff)
	}
	needsLogin(t, post(t.Context(), c, f.endpoint()))
	if was, err := c.Logout(t.Context()); err != nil || was {
		t.Error("a second logout: ", was, err)
	}
}

func TestPastedAddress(t *testing.T) {
	f := newFakeServer(t)
	c := newClient(t, f, t.TempDir(), nil)
	typed, keyboard := io.Pipe()
	err := c.Login(t.Context(), func(port int) (oauth.UserAgent, error) {
		return oauth.NewLoopback(port, func(page string) {
			go func() { // the browser of another machine, which cannot reach this one
				req, _ := http.NewRequest(http.MethodGet, page, nil)
				resp, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				fmt.Fprintf(keyboard, "what?\nhttp://127.0.0.1/callback?code=x&state=wrong\n%s\n", resp.Header.Get("Location"))
			}()
		}, typed)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := post(t.Context(), c, f.endpoint()); err != nil {
		t.Error(err)
	}
}

func TestStrangersDoNotEndTheWait(t *testing.T) {
	l, err := oauth.NewLoopback(0, func(string) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	back := make(chan string)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	shown := make(chan struct{})
	go func() {
		close(shown)
		got, err := l.Visit(ctx, "https://as.example/?state=right")
		if err != nil {
			t.Error(err)
		}
		back <- got
	}()
	<-shown
	get := func(query string) int {
		resp, err := http.Get(l.RedirectURL() + query)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for _, stranger := range []string{"", "?state=", "?state=wrong&code=x"} {
		if status := get(stranger); status != http.StatusBadRequest {
			t.Errorf("%q: status %d", stranger, status)
		}
	}
	for get("?state=right&code=y") != http.StatusOK { // Visit may not have begun
	}
	if got := <-back; got != l.RedirectURL()+"?state=right&code=y" {
		t.Errorf("came back with %q", got)
	}
}
