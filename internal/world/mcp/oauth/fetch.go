package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// maxAnswer is how much of an authorization server's answer is read.
const maxAnswer = 1 << 20

// errAbsent means that a server has no such document.
var errAbsent = errors.New("there is no such document")

// readAnswer reads a body as JSON, whatever the status; one that is none leaves
// into as it was.
func readAnswer(resp *http.Response, into any) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the authorization server's answer: %w", err)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		body = formAsJSON(body)
	}
	if err := json.Unmarshal(body, into); err != nil && resp.StatusCode < 300 {
		return fmt.Errorf("read the authorization server's answer: %w", err)
	}
	return nil
}

// formAsJSON is for authorization servers that are older than the standard.
func formAsJSON(body []byte) []byte {
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return body
	}
	flat := make(map[string]string, len(values))
	for k, v := range values {
		flat[k] = v[0]
	}
	out, err := json.Marshal(flat)
	if err != nil {
		return body
	}
	return out
}
