package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// badHTTP is a server of the older era over HTTP that misbehaves in one way.
type badHTTP struct {
	mode string

	mu       sync.Mutex
	calls    int
	sessions int
	stream   chan string // of the transport before the streamable one
	other    string      // another host
}

func newBadHTTP(t testing.TB, mode string) *httptest.Server {
	b := &badHTTP{mode: mode, stream: make(chan string, 10)}
	if mode == "redirects to another host" {
		other := httptest.NewServer(http.NotFoundHandler())
		t.Cleanup(other.Close)
		b.other = other.URL
	}
	s := httptest.NewServer(b)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (b *badHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case b.mode == "is the older transport":
		b.serveOlder(w, r)
	case r.Method == http.MethodDelete:
		if b.mode == "hangs on DELETE" {
			<-r.Context().Done()
		}
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodPost:
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
	default:
		raw, _ := io.ReadAll(r.Body)
		var m message
		_ = json.Unmarshal(raw, &m)
		b.post(w, r, m)
	}
}

func (b *badHTTP) post(w http.ResponseWriter, r *http.Request, m message) {
	switch m.Method {
	case "server/discover":
		b.probe(w, r, m)
	case "initialize":
		b.initialize(w, m)
	case "tools/list":
		b.json(w, m, `{"tools":[`+goodTool+`,{"name":"look","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		b.mu.Lock()
		b.calls++
		n := b.calls
		b.mu.Unlock()
		b.call(w, r, m, n)
	default:
		if b.mode == "refuses notifications" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func (b *badHTTP) json(w http.ResponseWriter, m message, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (b *badHTTP) probe(w http.ResponseWriter, r *http.Request, m message) {
	switch b.mode {
	case "answers the probe with HTML":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html><body>Welcome</body></html>")
	case "answers the probe with 400":
		http.Error(w, "what is that", http.StatusBadRequest)
	case "answers the probe with 500":
		http.Error(w, "boom", http.StatusInternalServerError)
	case "answers the probe with 404":
		http.Error(w, "not here", http.StatusNotFound)
	case "answers the probe with 405":
		http.Error(w, "no", http.StatusMethodNotAllowed)
	case "is silent on the probe":
		<-r.Context().Done()
	case "is silent on the probe in a stream":
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		http.Error(w, `Bad Request: unsupported`, http.StatusBadRequest)
	}
}

func (b *badHTTP) initialize(w http.ResponseWriter, m message) {
	switch b.mode {
	case "wants a login":
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://127.0.0.1/x"`)
		http.Error(w, "log in first", http.StatusUnauthorized)
		return
	case "is down for maintenance":
		http.Error(w, "maintenance until noon", http.StatusServiceUnavailable)
		return
	case "redirects to another host":
		w.Header().Set("Location", b.other)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	case "is a website":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>shop</html>")
		return
	}
	b.mu.Lock()
	b.sessions++
	w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", b.sessions))
	b.mu.Unlock()
	b.json(w, m, `{`+badInfo+`}`)
}

func (b *badHTTP) call(w http.ResponseWriter, r *http.Request, m message, n int) {
	ok := fmt.Sprintf(`{"content":[{"type":"text","text":"call %d"}]}`, n)
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, ok)
	switch b.mode {
	case "forgets the session":
		if n == 1 {
			http.Error(w, "unknown session", http.StatusNotFound)
			return
		}
	case "accepts and does not answer":
		w.WriteHeader(http.StatusAccepted)
		return
	case "answers with plain text":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, answer)
		return
	case "answers without a content type":
		w.Header()["Content-Type"] = nil
		io.WriteString(w, answer)
		return
	case "answers with a stream and does not say so":
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer)
		return
	case "changes the session id":
		w.Header().Set("Mcp-Session-Id", "another")
	case "answers with nothing":
		w.WriteHeader(http.StatusNoContent)
		return
	case "answers without end":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer[:20])
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
		return
	case "answers with HTML":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<h1>Proxy error</h1>")
		return
	case "answers with half of JSON":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer[:20])
		return
	case "answers with another id":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":777,"result":{}}`)
		return
	case "answers with a batch":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `[{"jsonrpc":"2.0","method":"notifications/message","params":{}},`+answer+`]`)
		return
	case "answers with the id as text":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "\ufeff"+`{"jsonrpc":"2.0","id":"%s","result":%s}`, m.ID, ok)
		return
	case "answers too long":
		if n == 1 {
			answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, m.ID, strings.Repeat("a", 3<<20))
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
		return
	case "refuses with 400":
		http.Error(w, "bad arguments", http.StatusBadRequest)
		return
	case "refuses with a JSON-RPC error":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"quota exceeded"}}`)
		return
	case "is busy for a moment":
		if n < 3 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		}
	case "is busy for long":
		w.Header().Set("Retry-After", "3600")
		http.Error(w, "busy", http.StatusTooManyRequests)
		return
	case "has a broken gateway":
		http.Error(w, "upstream gone", http.StatusBadGateway)
		return
	}
	if strings.Contains(b.mode, "stream") {
		b.callStream(w, r, m, answer)
		return
	}
	b.json(w, m, ok)
}

func (b *badHTTP) callStream(w http.ResponseWriter, r *http.Request, m message, answer string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := func(format string, args ...any) {
		fmt.Fprintf(w, format, args...)
		w.(http.Flusher).Flush()
	}
	switch b.mode {
	case "streams noise":
		flush(": comment\n\nevent: ping\ndata: {}\n\ndata: not json\n\ndata: {\"level\":\"info\"}\n\nnonsense\n\n")
	case "streams CRLF and long data":
		flush("event: message\r\ndata: %s\r\n\r\n", strings.Replace(answer, `,"result"`, ",\r\ndata: \"result\"", 1))
		return
	case "streams too long an event":
		flush("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n\n", m.ID, strings.Repeat("a", 3<<20))
		return
	case "ends the stream early":
		flush("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n")
		return
	case "cuts the stream":
		flush("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"resu", m.ID)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
		return
	case "streams nothing":
		flush("")
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
		return
	}
	flush("data: %s\n\n", answer)
}

// serveOlder is the transport of 2024-11-05: answers come by the one stream.
func (b *badHTTP) serveOlder(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages?id=1\n\ndata: stray noise\n\n")
		w.(http.Flusher).Flush()
		for {
			select {
			case text := <-b.stream:
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	if r.URL.Path != "/messages" {
		http.Error(w, "no POST here", http.StatusMethodNotAllowed)
		return
	}
	raw, _ := io.ReadAll(r.Body)
	var m message
	_ = json.Unmarshal(raw, &m)
	if m.ID != nil {
		rec := httptest.NewRecorder()
		b.post(rec, r, m)
		b.stream <- rec.Body.String()
	}
	w.WriteHeader(http.StatusAccepted)
}
