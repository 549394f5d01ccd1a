package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// A fakeServer is an MCP server and, on the same address, the authorization server
// it believes in. Refresh tokens rotate: one that is used twice ends the login, as
// RFC 9700 asks for.
type fakeServer struct {
	*httptest.Server

	mu    sync.Mutex
	codes map[string]url.Values // what was asked for, by code
	spent map[string]bool       // refresh tokens that worked once
	fakeState
}

// fakeState is what tests look at and change; see fakeServer.set and state.
type fakeState struct {
	access     map[string][]string // scopes of the tokens that work
	refresh    string              // the one that works
	stolen     int                 // how often a spent one came back
	refreshes  int
	clients    int        // how many registered
	asked      url.Values // the newest authorization request
	revoked    []string
	broken     int                                           // status of the token endpoint; 0 works
	needs      string                                        // scope that calls need; "" none
	lifetime   int                                           // of access tokens, in seconds; 0 unsaid
	onToken    func(form url.Values)                         // sees token requests before they are answered
	intercept  func(http.ResponseWriter, *http.Request) bool // answers instead of the server
	numbering  int
	authorized int // requests that were let in
}

func newFakeServer(t *testing.T) *fakeServer {
	f := &fakeServer{codes: map[string]url.Values{}, spent: map[string]bool{}}
	f.access = map[string][]string{}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", f.describeResource)
	mux.HandleFunc("/.well-known/oauth-authorization-server", f.describeIssuer)
	mux.HandleFunc("/register", f.register)
	mux.HandleFunc("/authorize", f.authorize)
	mux.HandleFunc("/token", f.token)
	mux.HandleFunc("/revoke", f.revoke)
	mux.HandleFunc("/mcp", f.call)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if intercept := f.state().intercept; intercept == nil || !intercept(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeServer) set(change func(*fakeState)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.fakeState)
}

func (f *fakeServer) state() fakeState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fakeState
}

func (f *fakeServer) endpoint() string { return f.URL + "/mcp" }

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (f *fakeServer) describeResource(w http.ResponseWriter, r *http.Request) {
	answer(w, 200, map[string]any{"resource": f.endpoint(), "authorization_servers": []string{f.URL}})
}

func (f *fakeServer) describeIssuer(w http.ResponseWriter, r *http.Request) {
	answer(w, 200, map[string]any{
		"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token",
		"registration_endpoint": f.URL + "/register", "revocation_endpoint": f.URL + "/revoke",
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (f *fakeServer) register(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clients++
	answer(w, 201, map[string]any{"client_id": fmt.Sprintf("client-%d", f.clients)})
}

func (f *fakeServer) authorize(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = r.URL.Query()
	code := f.next("code")
	f.codes[code] = f.asked
	back := url.Values{"code": {code}, "state": {f.asked.Get("state")}, "iss": {f.URL}}
	http.Redirect(w, r, f.asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// next names a new thing; the caller holds mu.
func (f *fakeServer) next(kind string) string {
	f.numbering++
	return fmt.Sprintf("%s-%d", kind, f.numbering)
}

func (f *fakeServer) token(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	if seen := f.state().onToken; seen != nil {
		seen(r.Form)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != 0 {
		answer(w, f.broken, map[string]string{"error": "temporarily_unavailable"})
		return
	}
	scope := ""
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		asked := f.codes[r.Form.Get("code")]
		delete(f.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if asked == nil || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || r.Form.Get("resource") != f.endpoint() {
			answer(w, 400, map[string]string{"error": "invalid_grant"})
			return
		}
		scope = asked.Get("scope")
	case "refresh_token":
		old := r.Form.Get("refresh_token")
		if f.spent[old] {
			f.stolen++
			f.refresh = "" // the thief and the victim look alike
		}
		if old != f.refresh || old == "" {
			answer(w, 400, map[string]string{"error": "invalid_grant", "error_description": "unknown token"})
			return
		}
		f.spent[old] = true
		f.refreshes++
	default:
		answer(w, 400, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	f.refresh = f.next("refresh")
	access := f.next("access")
	f.access[access] = strings.Fields(scope)
	reply := map[string]any{"access_token": access, "refresh_token": f.refresh, "token_type": "Bearer"}
	if f.lifetime != 0 {
		reply["expires_in"] = f.lifetime
	}
	answer(w, 200, reply)
}

func (f *fakeServer) revoke(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revoked = append(f.revoked, r.FormValue("token"))
}

// expire makes the server refuse every access token it gave out.
func (f *fakeServer) expire() {
	f.set(func(s *fakeState) { s.access = map[string][]string{} })
}

func (f *fakeServer) call(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	scopes, ok := f.access[token]
	challenge := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, f.URL)
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
	case f.needs != "" && !strings.Contains(" "+strings.Join(scopes, " ")+" ", " "+f.needs+" "):
		w.Header().Set("WWW-Authenticate", challenge+fmt.Sprintf(`, error="insufficient_scope", scope=%q`, f.needs))
		w.WriteHeader(http.StatusForbidden)
	default:
		f.authorized++
		w.WriteHeader(http.StatusOK)
	}
}
