package script

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// What the Messages API refuses is refused here, in its words, and remembered.
func TestRequestsAreJudgedLikeTheRealAPI(t *testing.T) {
	srv, err := Serve(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	const good = `{"model":"claude-opus-5-5","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	key := "k"
	post := func(body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, srv.URL()+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Anthropic-Version", "2023-06-01")
		req.Header.Set("X-Api-Key", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		said, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(said)
	}
	if status, body := post(good); status != 200 || len(srv.Refused()) != 0 {
		t.Errorf("a good request: %d %s %v", status, body, srv.Refused())
	}
	status, body := post(strings.Replace(good, `"hi"`, `""`, 1))
	if status != 400 || !strings.Contains(body, "must have non-empty content") || !strings.Contains(body, "invalid_request_error") {
		t.Errorf("an empty message: %d %s", status, body)
	}
	if status, body := post(strings.Replace(good, "opus-5-5", "opus-9", 1)); status != 404 || !strings.Contains(body, "not_found_error") {
		t.Errorf("a model that does not exist: %d %s", status, body)
	}
	key = ""
	if status, body := post(good); status != 401 || !strings.Contains(body, "authentication_error") {
		t.Errorf("no key: %d %s", status, body)
	}
	if got := srv.Refused(); len(got) != 3 || !strings.Contains(got[0], "content-empty") {
		t.Errorf("remembered %q", got)
	}
}
