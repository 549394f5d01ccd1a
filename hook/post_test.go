package hook_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/tool"
)

func TestWhatAURLSays(t *testing.T) {
	release := make(chan bool)
	var elsewhere int
	mux := http.NewServeMux()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); io.WriteString(w, body) }
	}
	mux.HandleFunc("/deny", answer(200, `{"decision": "block", "reason": "no"}`))
	mux.HandleFunc("/empty", answer(204, ""))
	mux.HandleFunc("/broken", answer(500, `{"decision": "block"}`))
	mux.HandleFunc("/half", answer(200, `{"decision"`))
	mux.HandleFunc("/large", answer(200, strings.Repeat("x", 1<<20+1)))
	mux.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) { <-release })
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { elsewhere++ })
	mux.Handle("/redirect", http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(release)

	tests := []struct {
		path string
		want tool.Behavior
		err  string
	}{
		{"/deny", tool.Deny, ""},
		{"/empty", tool.NoView, ""},
		{"/broken", tool.NoView, "it answered 500 Internal Server Error"},
		{"/half", tool.NoView, "its answer cannot be read: unexpected end of JSON input: line 1: \"{\\\"decision\\\"\""},
		{"/large", tool.NoView, "its answer exceeds the limit of 1048576 bytes"},
		{"/slow", tool.NoView, "it took longer than 200ms"},
		{"/redirect", tool.NoView, "it answered 307 Temporary Redirect"},
	}
	for _, tt := range tests {
		for _, block := range []bool{false, true} {
			h := hook.Hook{Event: "PreToolUse", URL: server.URL + tt.path, Timeout: 200 * time.Millisecond, Block: block}
			if tt.path != "/slow" {
				h.Timeout = 10 * time.Second
			}
			o := newRunner(t, []hook.Hook{h}, nil).Fire(t.Context(), "", hook.PreToolUse{ToolName: "Bash"})
			want, err := tt.want, ""
			if block && tt.err != "" {
				want = tool.Deny
			}
			if o.Runs[0].Err != nil {
				err = o.Runs[0].Err.Error()
			}
			if o.Behavior != want || err != tt.err {
				t.Errorf("%s, block %v: %v, error %q; want %v, %q", tt.path, block, o.Behavior, err, want, tt.err)
			}
		}
	}
	if elsewhere > 0 {
		t.Error("a redirect was followed")
	}
}

func TestAServerThatIsNotThereIsAnError(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	o := newRunner(t, []hook.Hook{{Event: "Stop", URL: server.URL}}, nil).Fire(t.Context(), "", hook.Stop{})
	if o.Blocked() || o.Runs[0].Err == nil {
		t.Errorf("blocked %v, error %v", o.Blocked(), o.Runs[0].Err)
	}
}

func TestWhatIsPosted(t *testing.T) {
	var body, kind string
	var headers []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body, kind, headers = string(b), r.Method+" "+r.Header.Get("Content-Type"), []string{r.Header.Get("X-A"), r.Header.Get("X-B")}
	}))
	defer server.Close()
	h := hook.Hook{Event: "SessionEnd", URL: server.URL, Env: []string{"MINE"}, Headers: map[string]string{"X-A": "Bearer ${MINE}", "X-B": "[$OTHER]"}}
	newRunner(t, []hook.Hook{h}, &hook.Options{Environ: []string{"MINE=m", "OTHER=o"}}).Fire(t.Context(), "", hook.SessionEnd{Reason: "r"})
	got := append([]string{body, kind}, headers...)
	want := []string{`{"session_id":"","transcript_path":"","cwd":"","hook_event_name":"SessionEnd","reason":"r"}`, "POST application/json", "Bearer m", "[]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}
