package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/haftdev/haft/internal/cli"
	"github.com/haftdev/haft/internal/sys/handshake"
	"github.com/haftdev/haft/internal/sys/linelimit"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// hostileServer is one for clients of 'haft serve': its texts move the cursor, and its lines have no end.
func hostileServer(t *testing.T) string {
	t.Helper()
	const evil = `\u001b]0;owned\u0007\u001b[2J`
	row := `{"id":"11111111-2222-4333-8444-555555555555","title":"` + evil + `","cwd":"/` + evil + `","model":"` + evil + `","permissionMode":"` + evil + `","mode":"` + evil + `","running":true}`
	endless := func(w io.Writer) {
		for sent := 0; sent < 16*linelimit.Max; sent += 1 << 20 {
			if _, err := io.WriteString(w, strings.Repeat("a", 1<<20)); err != nil {
				return
			}
		}
		t.Error("the client read on")
	}
	var submitted atomic.Bool
	known := handshake.NewServer("the token")
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == handshake.Path:
			hello, err := known.Hello(r)
			if err != nil {
				t.Error(err)
			}
			_ = json.NewEncoder(w).Encode(hello)
		case strings.HasSuffix(r.URL.Path, "/v1/wire"):
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: haft-wire\r\n\r\n"+`{"type":"haft_stderr","line":"`+evil+`"}`+"\n")
			endless(conn)
		case strings.HasSuffix(r.URL.Path, "/events"):
			if !submitted.Load() { // after a result, the outcome of the prompt is asked for
				fmt.Fprintf(w, "data: {\"type\":\"result\",\"subtype\":\"%s\",\"uuid\":\"u\",\"session_id\":\"s\"}\n\n", evil)
			}
			fmt.Fprintf(w, "data: {\"type\":\"system\",\"subtype\":\"informational\",\"level\":\"warning\",\"content\":\"%s\",\"uuid\":\"u\",\"session_id\":\"s\"}\n\ndata: ", evil)
			endless(w)
		case strings.Contains(r.URL.Path, "/prompts/"):
			io.WriteString(w, `{"state":"waiting"}`)
		case r.Method == http.MethodPost:
			submitted.Store(true)
			io.WriteString(w, row)
		default:
			fmt.Fprintf(w, `{"sessions":[%s]}`, row)
		}
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// TestAHostileServer: its clients end in words, and the terminal gets no escapes.
func TestAHostileServer(t *testing.T) {
	url := hostileServer(t)
	t.Setenv("HAFT_SERVE_TOKEN", "the token")
	for _, args := range [][]string{
		{"attach", url, "--watch"},
		{"attach", url + "/s/1111", "--watch"},
		{"-p", "--on", url, "hello"},
		{"connect", url},
	} {
		t.Run(args[0], func(t *testing.T) {
			var out, errs bytes.Buffer
			code := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, shellrun.Reexec{})
			if said := errs.String(); code == 0 || !strings.Contains(said, "a line of more than 64 MB") {
				t.Errorf("exit code %d, %q", code, said)
			}
			if strings.ContainsAny(out.String()+errs.String(), "\x1b\x07") {
				t.Errorf("the terminal got %q and %q", &out, &errs)
			}
		})
	}
}
