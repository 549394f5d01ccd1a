package handshake_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/sys/handshake"
)

const token = "the token of the user"

// A server that answers known clients.
func start(t *testing.T, token string) *httptest.Server {
	t.Helper()
	known := handshake.NewServer(token)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == handshake.Path {
			hello, err := known.Hello(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			_ = json.NewEncoder(w).Encode(hello)
			return
		}
		if _, valid := known.Knows(r); !valid {
			http.Error(w, "unknown", http.StatusUnauthorized)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(h.Close)
	return h
}

// heard are the requests that a program at a port gets, as text.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) note(r *http.Request) {
	raw, _ := httputil.DumpRequest(r, true)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, string(raw))
}

func (h *heard) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.all, "\n")
}

func post(c *http.Client, url, body string) (string, error) {
	resp, err := c.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.Status + " " + string(raw), err
}

// A client that knows the token reaches the server, also after a restart, and never sends the
// token.
func TestBothKnowTheToken(t *testing.T) {
	c := &http.Client{Transport: &handshake.Transport{Token: token}}
	var notes heard
	known := handshake.NewServer(token)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		notes.note(r)
		if r.URL.Path == handshake.Path {
			hello, err := known.Hello(r)
			if err != nil {
				t.Error(err)
			}
			_ = json.NewEncoder(w).Encode(hello)
		} else if _, valid := known.Knows(r); !valid {
			w.WriteHeader(http.StatusUnauthorized)
		} else {
			_, _ = io.Copy(w, r.Body)
		}
	}))
	defer h.Close()
	for n := range 4 {
		if n == 2 {
			known = handshake.NewServer(token) // as after a restart
		}
		if got, err := post(c, h.URL+"/v1/prompts", "hello"); err != nil || got != "200 OK hello" {
			t.Fatalf("request %d: %q, %v", n, got, err)
		}
	}
	if n := strings.Count(notes.text(), handshake.Path); n != 2 {
		t.Errorf("there were %d handshakes, want one per process", n)
	}
	if strings.Contains(notes.text(), token) {
		t.Errorf("the token was sent:\n%s", notes.text())
	}
}

// An impostor at the port gets a nonce and nothing else: neither the token, nor a ticket, nor
// what the client wanted to say. One that passes the handshake on to the real server does not
// either.
func TestAnImpostorGetsNothing(t *testing.T) {
	honest := start(t, token)
	target, err := url.Parse(honest.URL)
	if err != nil {
		t.Fatal(err)
	}
	relay := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }} // under the real server's name, which it insists on
	for name, answer := range map[string]http.HandlerFunc{
		"silence":           func(http.ResponseWriter, *http.Request) {},
		"an empty proof":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"nonce":"","proof":""}`) },
		"a server of haft":  start(t, "another token").Config.Handler.ServeHTTP,
		"one without token": start(t, "").Config.Handler.ServeHTTP,
		"a redirect":        http.RedirectHandler(honest.URL, http.StatusTemporaryRedirect).ServeHTTP,
		"a relay":           relay.ServeHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			var notes heard
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				notes.note(r)
				answer(w, r)
			}))
			defer h.Close()
			got, err := post(&http.Client{Transport: &handshake.Transport{Token: token}}, h.URL+"/v1/prompts", "the prompt")
			var unproved *handshake.UnprovedError
			if !errors.As(err, &unproved) || unproved.URL != h.URL {
				t.Errorf("%q, error %v", got, err)
			}
			if said := notes.text(); strings.Count(said, "HTTP/1.1") != 1 || strings.Contains(said, "Authorization") || strings.Contains(said, token) || strings.Contains(said, "the prompt") {
				t.Errorf("it got:\n%s", said)
			}
		})
	}
}

// A ticket is for one host and one process.
func TestTicketsAreBound(t *testing.T) {
	first := handshake.NewServer(token)
	var ticket string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hello, err := first.Hello(r); err == nil {
			_ = json.NewEncoder(w).Encode(hello)
			return
		}
		ticket = r.Header.Get("Authorization")
	}))
	defer h.Close()
	if _, err := post(&http.Client{Transport: &handshake.Transport{Token: token}}, h.URL+"/x", ""); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(h.URL, "http://")
	request := func(host, ticket string) *http.Request {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		r.Header.Set("Authorization", ticket)
		return r
	}
	for name, c := range map[string]struct {
		server *handshake.Server
		r      *http.Request
		want   bool
	}{
		"the same":        {first, request(host, ticket), true},
		"another host":    {first, request("127.0.0.1:1", ticket), false},
		"another process": {handshake.NewServer(token), request(host, ticket), false},
		"another token":   {handshake.NewServer("another"), request(host, ticket), false},
		"no ticket":       {first, request(host, "Haft "), false},
		"the token":       {first, request(host, "Haft "+token), false},
	} {
		if has, valid := c.server.Knows(c.r); !has || valid != c.want {
			t.Errorf("%s: %v, %v", name, has, valid)
		}
	}
}
