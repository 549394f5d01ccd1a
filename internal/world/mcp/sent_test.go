package mcp_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp"
)

// TestEveryTransportSaysTheSame holds what is sent over pipes against what is sent
// over HTTP. The official suite checks each message of the latter by the schema of
// the specification, and never looks at pipes.
func TestEveryTransportSaysTheSame(t *testing.T) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newModern() }, &sdk.StreamableHTTPOptions{Stateless: era == "2026-07-28"}))
			t.Cleanup(func() {
				web.CloseClientConnections()
				web.Close()
			})
			pipe := badEntry("modern")
			if era == "2025-11-25" {
				pipe.Env["MCP_TEST_OLD"] = "1"
			}
			overPipe := sentTo(t, pipe, era)
			overHTTP := sentTo(t, mcp.Server{Name: "bad", Type: mcp.HTTP, URL: web.URL}, era)
			if d := cmp.Diff(overHTTP, overPipe); d != "" {
				t.Errorf("(-HTTP +pipe):\n%s", d)
			}
		})
	}
}

var messageID = regexp.MustCompile(`"(id|progressToken)":\d+`)

// sentTo uses a server, and returns what it is sent.
func sentTo(t *testing.T, s mcp.Server, era string) []string {
	var mu sync.Mutex
	sent := map[string]bool{}
	h := newHost(t, &mcp.Options{OnMessage: func(_ string, out bool, message []byte) {
		mu.Lock()
		defer mu.Unlock()
		// What is still under way at the end, and has to be cancelled, is chance.
		if out && !strings.Contains(string(message), `"notifications/cancelled"`) {
			sent[messageID.ReplaceAllString(strings.TrimSpace(string(message)), `"$1":N`)] = true
		}
	}})
	h.Start([]mcp.Server{s})
	wait(t, h)
	if got := h.Status()[0]; got.Protocol != era {
		t.Fatalf("%s %s: %s", got.State, got.Protocol, got.Error)
	}
	if got := tell(call(t, h, "bad", "greet", `{"name":"Ada"}`)); got != "hello Ada" {
		t.Error(got)
	}
	if _, err := h.ReadResource(t.Context(), "bad", "note:1"); err != nil {
		t.Error(err)
	}
	if _, err := h.Resources(t.Context(), "bad"); err != nil {
		t.Error(err)
	}
	h.Close()
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(maps.Keys(sent))
}
