package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

func TestEveryHTTPMisbehaviourEndsInSuccessOrAnErrorThatNamesTheCause(t *testing.T) {
	const good = "call 1"
	for mode, want := range map[string]string{
		"good":                                      good,
		"answers the probe with HTML":               good,
		"answers the probe with 400":                good,
		"answers the probe with 500":                good,
		"answers the probe with 404":                good,
		"answers the probe with 405":                good,
		"is silent on the probe":                    good,
		"is silent on the probe in a stream":        good,
		"refuses notifications":                     good,
		"hangs on DELETE":                           good,
		"answers with plain text":                   good,
		"answers without a content type":            good,
		"answers with a batch":                      good,
		"answers with the id as text":               good,
		"streams noise":                             good,
		"streams CRLF and long data":                good,
		"is the older transport":                    good,
		"answers with a stream and does not say so": good,
		"changes the session id":                    good,
		"answers with nothing":                      "error: MCP error -32603: HTTP 204 No Content, but no answer to the request: no body",
		"answers without end":                       "error: The call to echo at the MCP server bad was cancelled: no result and no progress for 500ms. It may have taken partial effect.",
		"is a website":                              `status failed: calling "initialize": HTTP 200 OK, but no answer to the request: text/html: <html>shop</html>`,
		"wants a login":                             "status needs-auth: HTTP 401 Unauthorized: text/plain; charset=utf-8: log in first",
		"is down for maintenance":                   "status failed: HTTP 503 Service Unavailable: text/plain; charset=utf-8: maintenance until noon",
		"redirects to another host":                 "status failed: the server redirects to OTHER, which is another host",
		"accepts and does not answer":               "error: MCP error -32603: HTTP 202 Accepted, but no answer to the request: no body",
		"answers with HTML":                         "error: MCP error -32603: HTTP 200 OK, but no answer to the request: text/html: <h1>Proxy error</h1>",
		"answers with half of JSON":                 `error: MCP error -32603: HTTP 200 OK, but no answer to the request: application/json: {"jsonrpc":"2.0","id`,
		"answers with another id":                   `error: MCP error -32603: HTTP 200 OK, but no answer to the request: application/json: {"jsonrpc":"2.0","id":777,"result":{}}`,
		"answers too long":                          "error: MCP error -32603: the server's answer is longer than 2 MiB",
		"streams too long an event":                 "error: MCP error -32603: the server's answer is longer than 2 MiB",
		"refuses with 400":                          "error: MCP error -32603: HTTP 400 Bad Request: text/plain; charset=utf-8: bad arguments",
		"refuses with a JSON-RPC error":             "error: MCP error -32000: quota exceeded",
		"is busy for a moment":                      "error: MCP error -32603: HTTP 429 Too Many Requests: text/plain; charset=utf-8: busy",
		"is busy for long":                          "error: MCP error -32603: HTTP 429 Too Many Requests: text/plain; charset=utf-8: busy",
		"has a broken gateway":                      "error: MCP error -32603: HTTP 502 Bad Gateway: text/plain; charset=utf-8: upstream gone",
		"ends the stream early":                     "error: MCP server bad: echo: calling \"tools/call\": request terminated without response",
		"cuts the stream":                           "error: MCP server bad: echo: calling \"tools/call\": request terminated without response",
		"streams nothing":                           "error: The call to echo at the MCP server bad was cancelled: no result and no progress for 500ms. It may have taken partial effect.",
		"forgets the session":                       "error: MCP server bad lost the session during the call to echo. It is unknown whether the call took effect; check before you repeat it.",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			server := newBadHTTP(t, mode)
			opts := &mcp.Options{StartTimeout: 10 * time.Second, MaxMessage: 2 << 20}
			if mode == "streams nothing" || mode == "answers without end" {
				opts.IdleTimeout = 500 * time.Millisecond
			}
			h := newHost(t, opts)
			h.Start([]mcp.Server{{Name: "bad", Type: mcp.HTTP, URL: server.URL + "/mcp"}})
			wait(t, h)
			status := h.Status()[0]
			got := fmt.Sprintf("status %s: %s", status.State, status.Error)
			if status.State == mcp.Connected {
				got = tell(call(t, h, "bad", "echo", `{"text":"hi"}`))
			}
			if mode == "redirects to another host" && strings.Contains(got, "which is another host") {
				got = want // the address is another each time
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s\nsteps: %q", d, status.Steps)
			}
			if status.State == mcp.Connected && mode != "forgets the session" {
				if after := h.Status()[0]; after.State != mcp.Connected || after.Restarts > 0 {
					t.Errorf("the session did not survive: %s %s", after.State, after.Error)
				}
			}
			begin := time.Now()
			h.Close()
			if took := time.Since(begin); took > time.Second {
				t.Errorf("the end took %s", took)
			}
		})
	}
}

func TestACallThatMayBeRepeatedIs(t *testing.T) {
	for mode, want := range map[string]string{
		"forgets the session":  "call 2",
		"is busy for a moment": "call 3",
	} {
		t.Run(mode, func(t *testing.T) {
			server := newBadHTTP(t, mode)
			h := newHost(t, nil)
			h.Start([]mcp.Server{{Name: "bad", Type: mcp.HTTP, URL: server.URL}})
			wait(t, h)
			if got := tell(call(t, h, "bad", "look", `{}`)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestAServerThatComesBackIsUsedAgain(t *testing.T) {
	b := &badHTTP{mode: "streams nothing", stream: make(chan string, 10)}
	server := httptest.NewServer(b)
	address := server.Listener.Addr().String()
	h := newHost(t, nil)
	h.Start([]mcp.Server{{Name: "bad", Type: mcp.HTTP, URL: "http://" + address}})
	wait(t, h)
	failed := make(chan string)
	go func() { failed <- tell(call(t, h, "bad", "echo", `{}`)) }()
	for b.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	server.Listener.Close()
	server.CloseClientConnections()
	got := <-failed
	if took := time.Since(begin); took > time.Second || !strings.HasPrefix(got, "error: ") {
		t.Errorf("the call in flight ended after %s: %s", took, got)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again := &httptest.Server{Listener: listener, Config: &http.Server{Handler: &badHTTP{mode: "forgets the session", calls: 1, sessions: 5}}}
	again.Start()
	t.Cleanup(again.Close)
	if got := tell(call(t, h, "bad", "echo", `{}`)); got != "call 2" {
		t.Errorf("after the restart: %s", got)
	}
}

func (b *badHTTP) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

// login is an Auth that lets requests through once someone has logged in.
type login struct{ done atomic.Bool }

func (l *login) Transport(_ mcp.Server, base http.RoundTripper) (http.RoundTripper, error) {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		if !l.done.Load() {
			return nil, fmt.Errorf("token expired: %w", mcp.ErrNeedsAuth)
		}
		return base.RoundTrip(req)
	}), nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestALoginIsAskedForAndThenUsed(t *testing.T) {
	server := newBadHTTP(t, "good")
	l := new(login)
	h := newHost(t, &mcp.Options{Auth: l})
	h.Start([]mcp.Server{{Name: "bad", Type: mcp.HTTP, URL: server.URL}})
	wait(t, h)
	if s := h.Status()[0]; s.State != mcp.NeedsAuth {
		t.Fatalf("%s: %s", s.State, s.Error)
	}
	if got := tell(call(t, h, "bad", "echo", `{}`)); !strings.Contains(got, "haft mcp login bad") {
		t.Errorf("call: %s", got)
	}
	l.done.Store(true)
	if err := h.Reconnect(t.Context(), "bad"); err != nil {
		t.Fatal(err)
	}
	if got := tell(call(t, h, "bad", "echo", `{}`)); got != "call 1" {
		t.Errorf("call: %s", got)
	}
}

func TestHeadersComeFromTheEntryAndItsHelper(t *testing.T) {
	var seen atomic.Value
	inner := &badHTTP{mode: "good"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Turn") == "1" {
			http.Error(w, "old", http.StatusUnauthorized)
			return
		}
		seen.Store(r.Header.Get("X-Plain") + " " + r.Header.Get("X-Turn") + r.Header.Get("X-Stolen"))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	counter := t.TempDir() + "/n"
	h := newHost(t, &mcp.Options{Environ: append(os.Environ(), "ANTHROPIC_API_KEY=sk-1")})
	h.Start([]mcp.Server{{
		Name: "bad", Type: mcp.HTTP, URL: server.URL, Headers: map[string]string{"X-Plain": "p"},
		HeadersHelper: `echo x >> ` + counter + `; printf '{"X-Turn":"%d","X-Stolen":"%s"}' $(wc -l < ` + counter + `) "$ANTHROPIC_API_KEY"`,
	}})
	wait(t, h)
	if s := h.Status()[0]; s.State != mcp.Connected || seen.Load() != "p 2" {
		t.Errorf("%s %s, headers %v", s.State, s.Error, seen.Load())
	}
}

func TestACancelledCallReturnsAtOnceAndTheServerHearsOfIt(t *testing.T) {
	gone := make(chan struct{}, 1)
	inner := &badHTTP{mode: "streams nothing"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		if r.Context().Err() != nil {
			select {
			case gone <- struct{}{}:
			default:
			}
		}
	}))
	t.Cleanup(server.Close)
	h := newHost(t, nil)
	h.Start([]mcp.Server{{Name: "bad", Type: mcp.HTTP, URL: server.URL}})
	wait(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := h.Call(ctx, "bad", "echo", new(tool.Call))
		ended <- err
	}()
	for inner.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(begin) > 100*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	select {
	case <-gone:
	case <-time.After(time.Second):
		t.Error("the server did not hear of it")
	}
}
