package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
)

// raw sends bytes as they are and returns the answer.
func (s *site) raw(request string) *http.Response {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%q: %v", request, err)
	}
	return resp
}

// What other sites, other hosts' names and strangers send is refused, whatever the method,
// reads and streams of events included.
func TestStrangersAreRefused(t *testing.T) {
	s := newSite(t)
	host := strings.TrimPrefix(s.url, "http://")
	_, port, _ := net.SplitHostPort(host)
	auth := "Authorization: Bearer " + token + "\r\n"
	body := `{"cwd":"` + s.dir + `"}`
	post := func(headers string) string {
		return fmt.Sprintf("POST /v1/sessions HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", headers, len(body), body)
	}
	json := "Content-Type: application/json\r\n"
	at := "Host: " + host + "\r\n"
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"a read under another name (rebinding)":    {"GET /v1/sessions HTTP/1.1\r\nHost: evil.example:" + port + "\r\n" + auth + "\r\n", 421},
		"the page under another name":              {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
		"events under another name":                {"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1.evil.example:" + port + "\r\n" + auth + "\r\n", 421},
		"another port of this host":                {"GET /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:1\r\n" + auth + "\r\n", 421},
		"no token":                                 {"GET /v1/sessions HTTP/1.1\r\n" + at + "\r\n", 401},
		"events without a token":                   {"GET /v1/events HTTP/1.1\r\n" + at + "\r\n", 401},
		"the token in the query":                   {"GET /v1/sessions?token=" + token + " HTTP/1.1\r\n" + at + "\r\n", 401},
		"the token as the cookie":                  {"GET /v1/sessions HTTP/1.1\r\n" + at + "Cookie: haft-" + port + "=" + token + "\r\n\r\n", 401},
		"an empty token":                           {"GET /v1/sessions HTTP/1.1\r\n" + at + "Authorization: Bearer \r\n\r\n", 401},
		"a cross-site read":                        {"GET /v1/sessions HTTP/1.1\r\n" + at + auth + "Sec-Fetch-Site: cross-site\r\n\r\n", 403},
		"cross-site events":                        {"GET /v1/events HTTP/1.1\r\n" + at + auth + "Sec-Fetch-Site: cross-site\r\n\r\n", 403},
		"a read from another port of this host":    {"GET /v1/sessions HTTP/1.1\r\n" + at + auth + "Sec-Fetch-Site: same-site\r\n\r\n", 403},
		"a frame of another site":                  {"GET / HTTP/1.1\r\n" + at + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: iframe\r\n\r\n", 403},
		"a cross-site POST":                        {post(at + auth + json + "Sec-Fetch-Site: cross-site\r\n"), 403},
		"a POST of another origin":                 {post(at + auth + json + "Origin: https://evil.example\r\n"), 403},
		"a POST of no origin":                      {post(at + auth + json + "Origin: null\r\n"), 403},
		"a read of another origin":                 {"GET /v1/sessions HTTP/1.1\r\n" + at + auth + "Origin: http://127.0.0.1:1\r\n\r\n", 403},
		"a WebSocket of another origin":            {"GET /v1/events HTTP/1.1\r\n" + at + auth + "Origin: https://evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", 403},
		"a POST that a form can send":              {post(at + auth + "Content-Type: text/plain\r\n"), 415},
		"a POST without a type":                    {post(at + auth), 415},
		"a form":                                   {post(at + auth + "Content-Type: application/x-www-form-urlencoded\r\n"), 415},
		"a preflight":                              {"OPTIONS /v1/sessions HTTP/1.1\r\n" + at + "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n", 403},
		"a login of another origin":                {"POST /v1/login HTTP/1.1\r\n" + at + json + "Origin: https://evil.example\r\nContent-Length: 2\r\n\r\n{}", 403},
		"a body that is too long":                  {fmt.Sprintf("POST /v1/sessions HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n{\"cwd\":\"%s\"}", at+auth+json, 2<<20+10, strings.Repeat("a", 2<<20)), 413},
		"two values":                               {"POST /v1/sessions HTTP/1.1\r\n" + at + auth + json + "Content-Length: 4\r\n\r\n{}{}", 400},
		"a folder above":                           {"GET /../../../../etc/passwd HTTP/1.1\r\n" + at + "\r\n", 307},
		"a folder above, written otherwise":        {"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + at + "\r\n", 404},
		"a folder above with backslashes":          {"GET /..%5c..%5cetc%5cpasswd HTTP/1.1\r\n" + at + "\r\n", 404},
		"a session outside":                        {"GET /v1/sessions/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n" + at + auth + "\r\n", 404},
		"a session by a pattern":                   {"GET /v1/sessions/*/timeline HTTP/1.1\r\n" + at + auth + "\r\n", 404},
		"a position that is none":                  {"GET /v1/sessions/x/events?after=../../x HTTP/1.1\r\n" + at + auth + "\r\n", 400},
		"the right token":                          {"GET /v1/sessions HTTP/1.1\r\n" + at + auth + "Sec-Fetch-Site: same-origin\r\nOrigin: " + s.url + "\r\n\r\n", 200},
		"the right token under the name localhost": {"GET /v1/sessions HTTP/1.1\r\nHost: localhost:" + port + "\r\n" + auth + "\r\n", 200},
		"the page, opened by the user":             {"GET / HTTP/1.1\r\n" + at + "Sec-Fetch-Site: none\r\n\r\n", 200},
		"a page of a session, opened by the user":  {"GET /s/0c0ffee0-0000-4000-8000-000000000000 HTTP/1.1\r\n" + at + "Sec-Fetch-Site: none\r\n\r\n", 200},
		"the page, opened by a link or a file":     {"GET / HTTP/1.1\r\n" + at + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n\r\n", 200},
		"the API, opened by a link":                {"GET /v1/sessions HTTP/1.1\r\n" + at + auth + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n\r\n", 403},
		"the page, by a form of another site":      {"POST / HTTP/1.1\r\n" + at + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nContent-Length: 0\r\n\r\n", 403},
		"a script of the page, for another site":   {"GET /app.js HTTP/1.1\r\n" + at + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n\r\n", 403},
		"a file of the page":                       {"GET /app.js HTTP/1.1\r\n" + at + "Sec-Fetch-Site: same-origin\r\n\r\n", 200},
		"what the page does not have":              {"GET /serve.go HTTP/1.1\r\n" + at + "\r\n", 404},
		"an operation that there is not":           {"PUT /v1/sessions HTTP/1.1\r\n" + at + auth + "\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			resp := s.raw(c.request)
			text, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // what came, for the message
			if resp.StatusCode != c.want {
				t.Errorf("%s %s, want %d", resp.Status, text, c.want)
			}
			for h := range resp.Header {
				if strings.HasPrefix(h, "Access-Control-") {
					t.Errorf("it has %s", h)
				}
			}
			for h, want := range map[string]string{
				"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
				"X-Content-Type-Options":       "nosniff",
				"Referrer-Policy":              "no-referrer",
				"Cross-Origin-Resource-Policy": "same-origin",
				"Cross-Origin-Opener-Policy":   "same-origin",
			} {
				if got := resp.Header.Get(h); got != want {
					t.Errorf("%s is %q", h, got)
				}
			}
		})
	}
	var list serve.Sessions
	if s.must("GET", "/v1/sessions", nil, &list); len(list.Sessions) != 0 {
		t.Errorf("the attacks made sessions: %+v", list)
	}
}

// login logs a browser in and returns the status and its credential.
func (s *site) login(code string) (status int, token string) {
	s.t.Helper()
	raw, err := json.Marshal(serve.Code{Code: code})
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.Post(s.url+"/v1/login", "application/json", bytes.NewReader(raw))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var c serve.Credential
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		s.t.Fatal(err)
	}
	if len(resp.Cookies()) > 0 {
		s.t.Errorf("a login sets cookies: %v", resp.Cookies())
	}
	return resp.StatusCode, c.Token
}

// loginCode makes a code on the machine of the server.
func (s *site) loginCode() string {
	s.t.Helper()
	var c serve.Code
	s.must("POST", "/v1/logins", nil, &c)
	return c.Code
}

// list asks for the sessions as a page does, and returns the status.
func (s *site) list(credential string) int {
	s.t.Helper()
	r, err := http.NewRequest("GET", s.url+"/v1/sessions", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Haft-Token", credential)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// A code logs one browser in, once. What the browser gets is not the token, and ends with the
// process, even if the next one has the same home, port and token.
func TestABrowserLogsInWithACode(t *testing.T) {
	s := newSite(t)
	code := s.loginCode()
	status, credential := s.login(code)
	if status != http.StatusOK || credential == "" || credential == token {
		t.Fatalf("a login: %d %q", status, credential)
	}
	if status, again := s.login(code); status != http.StatusUnauthorized || again != "" {
		t.Errorf("the second use of a code: %d", status)
	}
	if status, _ := s.login(token); status != http.StatusUnauthorized {
		t.Errorf("the token as a code: %d", status)
	}
	if status := s.list(credential); status != http.StatusOK {
		t.Errorf("with the credential: %d", status)
	}
	unused := s.loginCode()
	raw, err := os.ReadFile(filepath.Join(os.Getenv("HAFT_HOME"), "serve", "logins.json"))
	if err != nil || strings.Contains(string(raw), unused) {
		t.Errorf("the file has the code: %s, %v", raw, err)
	}
	s.end()
	next := startSite(t, servetest.Scripted(t), strings.TrimPrefix(s.url, "http://"))
	if status := next.list(credential); status != http.StatusUnauthorized {
		t.Errorf("the credential of an earlier process: %d", status)
	}
	if status, _ := next.login(unused); status != http.StatusUnauthorized {
		t.Errorf("a code of an earlier process: %d", status)
	}
}

// Who guesses is slowed down; who has the token, the credential of a page or a code to pair a
// device is not, also from the same address, as behind a tunnel.
func TestWrongTokensAreLimited(t *testing.T) {
	s := newSite(t)
	_, credential := s.login(s.loginCode())
	last := 0
	for range 11 {
		last = s.list("a guess")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the 11th guess: %d", last)
	}
	if status, raw := s.do("GET", "/v1/sessions", nil); status != http.StatusOK {
		t.Errorf("the right token after too many guesses: %d %s", status, raw)
	}
	if status, _ := s.login(s.loginCode()); status != http.StatusOK {
		t.Errorf("a login after too many guesses: %d", status)
	}
	if status := (&phone{site: s}).pair(s.code(false).Code); status != http.StatusOK {
		t.Errorf("a device is paired after too many guesses of tokens: %d", status)
	}
	if status := s.list(credential); status != http.StatusOK {
		t.Errorf("the page of the user: %d", status)
	}
}

// Bodies that never end neither keep the user out nor stay, whether they come before the login or
// with a wrong token.
func TestHalfBodies(t *testing.T) {
	s := newSite(t)
	address := strings.TrimPrefix(s.url, "http://")
	var half []net.Conn
	for n := range 300 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		defer conn.Close()
		path := []string{"/v1/login", "/v1/pair", "/v1/sessions", "/v1/hello", "/"}[n%5]
		if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: "+address+"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		half = append(half, conn)
	}
	began := time.Now()
	s.must("GET", "/v1/sessions", nil, nil)
	for n, conn := range half {
		_ = conn.SetReadDeadline(began.Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d stays open", n)
		}
	}
	until(t, "a login", func() bool { status, _ := s.login(s.loginCode()); return status == http.StatusOK })
}

// Connections that say nothing, or say it slowly, neither keep others out nor stay.
func TestIdleConnections(t *testing.T) {
	s := newSite(t)
	address := strings.TrimPrefix(s.url, "http://")
	var idle []net.Conn
	for n := range 1000 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		defer conn.Close()
		if n%2 == 0 {
			if _, err := io.WriteString(conn, "GET /v1/sessions HTTP/1.1\r\nHost: "+address+"\r\nX-Slow: "); err != nil {
				t.Fatal(err)
			}
		}
		idle = append(idle, conn)
	}
	began := time.Now()
	s.must("GET", "/v1/sessions", nil, nil)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("beside 1,000 idle connections a list takes %s", took)
	}
	for n, conn := range idle {
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Fatalf("connection %d stays open: %v", n, err)
		}
	}
}

// What tools, files and models say leaves as JSON, with every < escaped, whatever it is.
func TestHostileTextStaysText(t *testing.T) {
	evil := "</script><img src=x onerror=alert(1)>\u2028\x1b]0;owned\x07"
	s := newSite(t, servetest.Says(evil))
	row := s.create("<b>" + evil)
	f := s.feed("/v1/sessions/"+row.ID+"/events?timeline=", "")
	e := f.Message("assistant", "onerror")
	if strings.ContainsAny(e.Data, "\n\r\x1b") {
		t.Errorf("the event breaks its line: %q", e.Data)
	}
	for _, path := range []string{"", "/timeline", "/items/0", "/checkpoints", "/diff"} {
		status, raw := s.do("GET", "/v1/sessions/"+row.ID+path, nil)
		if status != http.StatusOK || strings.ContainsAny(string(raw), "<>&\x1b") || !json.Valid(raw) {
			t.Errorf("%s: %d %s", path, status, raw)
		}
	}
	s.must("PATCH", "/v1/sessions/"+row.ID, serve.SessionChange{Title: evil}, nil)
	resp := s.raw("GET /v1/sessions HTTP/1.1\r\nHost: " + strings.TrimPrefix(s.url, "http://") + "\r\nAuthorization: Bearer " + token + "\r\n\r\n")
	raw, _ := io.ReadAll(resp.Body)
	if kind := resp.Header.Get("Content-Type"); kind != "application/json" || strings.Contains(string(raw), "<img") {
		t.Errorf("%s: %s", kind, raw)
	}
}

// The page cannot do what belongs to the terminal.
func TestTheTerminalsOwn(t *testing.T) {
	s := newSite(t)
	if p := s.refused("POST", "/v1/sessions", serve.NewSession{Cwd: s.dir, Mode: "bypassPermissions"}, http.StatusForbidden); p.Code != "terminal_only" {
		t.Errorf("a session without permissions: %+v", p)
	}
	row := s.create("")
	if p := s.refused("PATCH", "/v1/sessions/"+row.ID, serve.SessionChange{Mode: "bypassPermissions"}, http.StatusForbidden); p.Code != "terminal_only" {
		t.Errorf("a change of the mode: %+v", p)
	}
	s.refused("POST", "/v1/sessions", serve.NewSession{Cwd: "relative"}, http.StatusBadRequest)
	repository := &serve.Workspace{Repository: "https://example.com/x"}
	if p := s.refused("POST", "/v1/sessions", serve.NewSession{Cwd: s.dir, Workspace: repository}, http.StatusBadRequest); p.Message != "Give cwd or workspace, not both." {
		t.Errorf("both were refused with %q", p.Message)
	}
	if p := s.refused("POST", "/v1/sessions", serve.NewSession{Workspace: repository}, http.StatusBadRequest); !strings.Contains(p.Message, "use the API of haft-fleet") {
		t.Errorf("a workspace was refused with %q", p.Message)
	}
	s.refused("POST", "/v1/sessions", serve.NewSession{Cwd: filepath.Join(s.dir, "none")}, http.StatusBadRequest)
	s.refused("POST", "/v1/sessions", serve.NewSession{Cwd: s.dir, Mode: "nonsense"}, http.StatusBadRequest)
}

// The token file is the user's alone, and there is one server per user.
func TestTheHomeOfAServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "serve")
	first, err := serve.OpenHome(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Save(7, "http://127.0.0.1:7/"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(first.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token file: %v, %v", info, err)
	}
	second, err := serve.OpenHome(dir, false)
	if err != nil || second.Running != "http://127.0.0.1:7/" || second.PID != os.Getpid() || second.Token != first.Token {
		t.Errorf("the second server finds %+v, %v", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := serve.OpenHome(dir, false)
	if err != nil || again.Running != "" || again.Token != first.Token {
		t.Errorf("after the end: %+v, %v", again, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(first.File, 0o644); err != nil {
		t.Fatal(err)
	}
	leaked, err := serve.OpenHome(dir, false)
	if err != nil || leaked.Token == first.Token {
		t.Errorf("a token that others could read is used again: %v", err)
	}
	if err := leaked.Close(); err != nil {
		t.Fatal(err)
	}
}
