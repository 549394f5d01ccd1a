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
	const good = `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	post := func(body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, srv.URL()+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Anthropic-Version", "2023-06-01")
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
	if got := srv.Refused(); len(got) != 1 || !strings.Contains(got[0], "content-empty") {
		t.Errorf("remembered %q", got)
	}
}
