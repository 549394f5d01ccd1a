// Package httpgate is the http.RoundTripper under the protocol library's HTTP
// transports. The library gives up a whole session for one bad answer; this
// package turns bad answers into errors of the one call that they belong to.
//
// It adds the configured headers, tries again when a server says that it is
// busy and trying again does no harm, bounds what is read, and passes messages
// through the connection's gate.
//
// A Transport is that of one connection and safe for concurrent use.
package httpgate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/mcp/envelope"
	"github.com/haftdev/haft/internal/world/mcp/gate"
)

// A Transport carries the requests of one connection.
type Transport struct {
	Base  http.RoundTripper
	Gate  *gate.Gate
	Host  string // of the server; no other gets its headers
	Max   int    // bytes of one message
	Older bool   // the HTTP+SSE transport, whose answers come by another stream

	// Headers returns the headers to add; again means that the server refused
	// those of before.
	Headers func(ctx context.Context, again bool) (map[string]string, error)
	// OnLost is told when the server is not there any more.
	OnLost func(error)

	mu     sync.Mutex
	status int    // of the newest refusal, 0 for none
	reason string // what it said
	silent bool   // the question for the era was not answered in time
	locked error  // why the question for the era was not let through; nil if it was
}

// Locked is why the server, or the login that it needs, did not let the question for
// the era through; nil if it did. What a server says to anything else is then no news:
// one of the newer era refuses the handshake of the older as a bad request.
func (t *Transport) Locked() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.locked
}

func (t *Transport) lock(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.locked = cause
}

// Unauthorized is the refusal of a server that wants to know who asks.
type Unauthorized struct{ Reason string }

func (e *Unauthorized) Error() string { return "HTTP 401 Unauthorized: " + e.Reason }

// HandshakeTimedOut reports whether the server did not answer server/discover in time.
func (t *Transport) HandshakeTimedOut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.silent
}

// answerProbe speaks for a server that does not know the question, or is slow.
func (t *Transport) answerProbe(req *http.Request, id int64) *http.Response {
	t.Gate.Forget(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.silent = true
	return fail(req, id, "the server did not answer server/discover")
}

// Refusal returns the HTTP status and the words of the newest refusal.
func (t *Transport) Refusal() (status int, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status, t.reason
}

func (t *Transport) refused(status int, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status, t.reason = status, reason
}

type safeKey struct{}

// Repeatable marks calls that may be sent twice.
func Repeatable(ctx context.Context) context.Context {
	return context.WithValue(ctx, safeKey{}, true)
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodPost:
		return t.post(req)
	case http.MethodDelete:
		return t.goodbye(req)
	}
	resp, err := t.send(req, nil)
	if err != nil {
		t.noticeDeath(err)
		return nil, err
	}
	if resp.StatusCode >= 300 {
		t.refused(resp.StatusCode, resp.Status)
	}
	if isStream(resp) {
		resp.Body = newStream(req.Context(), resp.Body, t, 0)
	}
	return resp, nil
}

// goodbye is sent at the end and not waited for: nobody cares for the answer.
func (t *Transport) goodbye(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), 300*time.Millisecond)
	defer cancel()
	resp, err := t.send(req.WithContext(ctx), nil)
	if err == nil {
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	return resp, err
}

func (t *Transport) post(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	m := t.Gate.Sent(body)
	if !m.HasID() || m.Method == "" {
		return t.notify(req, body)
	}
	t.refused(0, "")
	id, _ := m.Number()
	if m.Method == "server/discover" && !t.Older {
		return t.probe(req.WithContext(context.WithValue(req.Context(), probeKey{}, true)), body, id)
	}
	resp, err := t.persist(req, body, m.Method != "tools/call" || req.Context().Value(safeKey{}) != nil)
	if err != nil {
		t.Gate.Forget(id)
		return nil, err
	}
	return t.answer(req, resp, id)
}

// notify sends what gets no answer. That it was refused ends no session.
func (t *Transport) notify(req *http.Request, body []byte) (*http.Response, error) {
	resp, err := t.send(req, body)
	if err != nil || resp.StatusCode < 300 || resp.StatusCode == http.StatusNotFound {
		return resp, err
	}
	resp.Body.Close()
	return made(req, http.StatusAccepted, "", nil), nil
}

// probe asks for the era; whatever the server does, the library gets an answer.
func (t *Transport) probe(req *http.Request, body []byte, id int64) (*http.Response, error) {
	resp, err := t.persist(req, body, true)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return t.answerProbe(req, id), nil
		}
		t.lock(err)
		t.Gate.Forget(id)
		return nil, err
	}
	status := resp.StatusCode
	resp, err = t.answer(req, resp, id)
	if status == http.StatusUnauthorized {
		_, reason := t.Refusal()
		t.lock(&Unauthorized{reason})
	}
	if err != nil || !isStream(resp) {
		return resp, err
	}
	// The answer may come as a stream, which may have no end.
	whole, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if t.Gate.Waiting(id) != "" {
		return t.answerProbe(req, id), nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(whole))
	return resp, nil
}

const (
	maxTries = 3
	maxPause = 20 * time.Second
)

// persist sends a request again while the server is busy, where that is safe.
func (t *Transport) persist(req *http.Request, body []byte, again bool) (*http.Response, error) {
	for try := 1; ; try++ {
		resp, err := t.send(req, body)
		if err != nil || !again || try == maxTries || !busy(resp.StatusCode) {
			return resp, err
		}
		pause := retryAfter(resp.Header, 250*time.Millisecond<<try)
		if pause > maxPause {
			return resp, nil
		}
		resp.Body.Close()
		select {
		case <-time.After(pause):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
}

func busy(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func retryAfter(h http.Header, otherwise time.Duration) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		now, err := http.ParseTime(h.Get("Date")) // the server's clock, as ours may be wrong
		if err != nil {
			now = time.Now()
		}
		return max(at.Sub(now), 0)
	}
	return otherwise
}

// send sends a request with the configured headers, and once more with new ones
// if they were refused.
func (t *Transport) send(req *http.Request, body []byte) (*http.Response, error) {
	var own map[string]string
	if t.Headers != nil && req.URL.Host == t.Host {
		var err error
		if own, err = t.Headers(req.Context(), false); err != nil {
			return nil, err
		}
	}
	for again := false; ; again = true {
		r := req.Clone(req.Context())
		if body != nil {
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		}
		for name, value := range own {
			r.Header.Set(name, value)
		}
		resp, err := t.Base.RoundTrip(r)
		if err != nil || again || len(own) == 0 || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		fresh, err := t.Headers(r.Context(), true)
		if err != nil || same(own, fresh) {
			return resp, nil
		}
		resp.Body.Close()
		own = fresh
	}
}

func same(a, b map[string]string) bool {
	for name, value := range b {
		if a[name] != value {
			return false
		}
	}
	return len(a) == len(b)
}

// noticeDeath tells when nobody listens at the server's address.
func (t *Transport) noticeDeath(err error) {
	var dial *net.OpError
	if t.OnLost != nil && errors.As(err, &dial) && dial.Op == "dial" {
		t.OnLost(fmt.Errorf("the server no longer answers: %w", err))
	}
}

// answer makes of any response one that the library takes for an answer.
func (t *Transport) answer(req *http.Request, resp *http.Response, id int64) (*http.Response, error) {
	if req.Header.Get("Mcp-Session-Id") != "" {
		resp.Header.Del("Mcp-Session-Id") // one that changes its mind would end the session
	}
	switch {
	case resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "":
		t.Gate.Forget(id)
		return resp, nil // the library knows what that means
	case resp.StatusCode >= 400:
		return t.refuse(req, resp, id), nil
	case resp.StatusCode >= 300:
		return resp, nil // http.Client follows it, or does not
	case t.Older:
		resp.Body.Close() // the answer comes by the stream
		return made(req, http.StatusAccepted, "", nil), nil
	case isStream(resp):
		resp.Body = newStream(req.Context(), resp.Body, t, id)
		return resp, nil
	}
	defer resp.Body.Close()
	data, err := readAll(resp, t.Max)
	if err != nil {
		t.Gate.Forget(id)
		return fail(req, id, err.Error()), nil
	}
	if looksLikeStream(data) { // without saying so
		resp.Body = newStream(req.Context(), io.NopCloser(bytes.NewReader(data)), t, id)
		resp.Header.Set("Content-Type", "text/event-stream")
		return resp, nil
	}
	messages := [][]byte{data}
	if trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff"); len(trimmed) > 0 && trimmed[0] == '[' {
		messages = nil
		for element := range envelope.Elements(trimmed) {
			messages = append(messages, element)
		}
	}
	for _, message := range messages {
		m, ok := t.Gate.Admit(bytes.TrimPrefix(bytes.TrimSpace(message), []byte("\ufeff")))
		if n, _ := m.Number(); ok && m.IsResponse() && n == id {
			return keepSession(resp, made(req, http.StatusOK, "application/json", gate.Encode(m))), nil
		}
	}
	t.Gate.Forget(id)
	return fail(req, id, fmt.Sprintf("HTTP %s, but no answer to the request: %s", resp.Status, describe(resp, data))), nil
}

// refuse turns an HTTP error into one of the call, unless it is one already.
func (t *Transport) refuse(req *http.Request, resp *http.Response, id int64) *http.Response {
	defer resp.Body.Close()
	data, _ := readAll(resp, 1<<20)
	t.refused(resp.StatusCode, describe(resp, data))
	t.Gate.Forget(id)
	if m, err := envelope.Scan(data); err == nil && m.Error != nil {
		return made(req, http.StatusOK, "application/json", gate.Encode(gate.Refusal(id, m.Error)))
	}
	return fail(req, id, "HTTP "+resp.Status+": "+describe(resp, data))
}

func looksLikeStream(data []byte) bool {
	for _, field := range []string{"data:", "event:", "id:"} {
		if bytes.HasPrefix(data, []byte(field)) {
			return true
		}
	}
	return false
}

func describe(resp *http.Response, data []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(data[:min(len(data), 200)]), "")), " ")
	if text == "" {
		text = "no body"
	}
	if kind := resp.Header.Get("Content-Type"); kind != "" {
		text = kind + ": " + text
	}
	return text
}

// readAll reads a body of bounded size into one piece.
func readAll(resp *http.Response, limit int) ([]byte, error) {
	if resp.ContentLength > int64(limit) {
		return nil, fmt.Errorf("the server's answer is longer than %d MiB", limit>>20)
	}
	var b bytes.Buffer
	if resp.ContentLength > 0 {
		b.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(resp.Body, int64(limit)+1))
	if n > int64(limit) {
		return nil, fmt.Errorf("the server's answer is longer than %d MiB", limit>>20)
	}
	if err != nil {
		err = fmt.Errorf("read the server's answer: %w", err)
	}
	return b.Bytes(), err
}

func isStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/event-stream" && resp.StatusCode < 300
}

func fail(req *http.Request, id int64, message string) *http.Response {
	return made(req, http.StatusOK, "application/json", gate.Encode(gate.Failure(id, message)))
}

func made(req *http.Request, status int, kind string, body []byte) *http.Response {
	h := http.Header{}
	if kind != "" {
		h.Set("Content-Type", kind)
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

func keepSession(from, to *http.Response) *http.Response {
	if id := from.Header.Get("Mcp-Session-Id"); id != "" {
		to.Header.Set("Mcp-Session-Id", id)
	}
	return to
}
