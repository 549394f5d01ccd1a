//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/model/script"
)

// TestTheModelIsToldThatAResourceHasChanged: a resource that was read is subscribed to, a
// change is told with the next request, once until it is read again.
func TestTheModelIsToldThatAResourceHasChanged(t *testing.T) {
	for _, era := range mcpEras {
		t.Run(era, func(t *testing.T) {
			server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, &sdk.ServerOptions{
				SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
				UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
			})
			var mu, turns sync.Mutex
			version := 1
			server.AddResource(&sdk.Resource{URI: "note:1", Name: "note"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				mu.Lock()
				defer mu.Unlock()
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "note:1", Text: fmt.Sprintf("edition %d", version)}}}, nil
			})
			change := func() {
				mu.Lock()
				version++
				mu.Unlock()
				if err := server.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "note:1"}); err != nil {
					t.Error(err)
				}
			}
			const sign = "note:1 of the server notes"
			step, tries := 0, 0
			read := use("ReadMcpResource", `{"server":"notes","uri":"note:1"}`)
			d := newDialogue(t, func(r *script.Request) script.Turn {
				turns.Lock()
				defer turns.Unlock()
				told := bytes.Count(r.Body, []byte(sign))
				idle := func() script.Turn {
					if tries++; tries > 300 {
						return done
					}
					change()
					time.Sleep(20 * time.Millisecond) // it reaches haft on a stream of its own
					return use("Glob", fmt.Sprintf(`{"pattern":"no-%d"}`, tries))
				}
				switch {
				case step == 0:
					step++
					return read
				case step == 1 && told == 0, step < 5 && step > 1: // until it is told, and three times more
					if told > 0 {
						step++
					}
					return idle()
				case step == 1:
					step++
					return idle()
				case step == 5:
					if told != 1 {
						t.Errorf("it was told %d times", told)
					}
					step++
					return read
				case step == 6 && told < 2:
					return idle()
				}
				step = 7
				return done
			})
			d.run("mcp", "add", "notes", oneEra(t, server, era))
			lines, _ := d.ask()
			wire := strings.Join(lines, "\n")
			turns.Lock()
			defer turns.Unlock()
			if step != 7 || !strings.Contains(wire, "edition 1") || strings.Count(wire, "edition ") < 2 {
				t.Fatalf("step %d after %d requests: %.3000s", step, len(d.model.Requests()), wire)
			}
		})
	}
}

// oneEra serves a server over HTTP that speaks one era only.
func oneEra(t *testing.T, server *sdk.Server, era string) string {
	t.Helper()
	modern := era == mcpEras[1]
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: modern})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !modern && bytes.Contains(body, []byte(`"server/discover"`)) {
			http.Error(w, "too new", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}
