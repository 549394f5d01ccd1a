package httpgate

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/haftdev/haft/internal/mcp/envelope"
	"github.com/haftdev/haft/internal/mcp/gate"
)

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
