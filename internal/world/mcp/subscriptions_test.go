package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp"
)

// TestSubscriptionsInBothEras: a change is reported, a second subscription is none, one that is
// ended is over, and a new connection keeps what was subscribed to.
func TestSubscriptionsInBothEras(t *testing.T) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			began, ended := make(chan string, 100), make(chan string, 100)
			server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, &sdk.ServerOptions{
				SubscribeHandler:   func(_ context.Context, r *sdk.SubscribeRequest) error { began <- r.Params.URI; return nil },
				UnsubscribeHandler: func(_ context.Context, r *sdk.UnsubscribeRequest) error { ended <- r.Params.URI; return nil },
			})
			server.AddResource(&sdk.Resource{URI: "note:1", Name: "note"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{}, nil
			})
			updated := make(chan string, 100)
			h := newHost(t, &mcp.Options{OnUpdate: func(server, uri string) { updated <- server + " " + uri }})
			h.Start([]mcp.Server{{Name: "notes", Type: mcp.HTTP, URL: serveEra(t, server, era)}})
			wait(t, h)
			if got := h.Status()[0].Protocol; got != era {
				t.Fatalf("connected in %s: %q", got, h.Status()[0].Steps)
			}
			for range 2 {
				if err := h.Subscribe(t.Context(), "notes", "note:1"); err != nil {
					t.Fatal(err)
				}
			}
			await(t, began, "note:1")
			report := func() {
				t.Helper()
				// The server may note a subscription after it has called the handler.
				for tries := 0; ; tries++ {
					if err := server.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "note:1"}); err != nil {
						t.Fatal(err)
					}
					select {
					case got := <-updated:
						if got != "notes note:1" {
							t.Errorf("reported %s", got)
						}
						return
					case <-time.After(100 * time.Millisecond):
						if tries > 300 {
							t.Fatal("no change was reported")
						}
					}
				}
			}
			report()
			if len(began) > 0 {
				t.Error("it was subscribed to twice")
			}
			if err := h.Reconnect(t.Context(), "notes"); err != nil {
				t.Fatal(err)
			}
			await(t, began, "note:1")
			report()
			if err := h.Unsubscribe(t.Context(), "notes", "note:1"); err != nil {
				t.Fatal(err)
			}
			await(t, ended, "note:1")
		})
	}
}

// TestSubscriptionsAreBounded: there are no more than a few for one server, and none where a
// server offers none or never answers.
func TestSubscriptionsAreBounded(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Resources: &sdk.ResourceCapabilities{Subscribe: true}},
		SubscribeHandler: func(ctx context.Context, r *sdk.SubscribeRequest) error {
			if r.Params.URI == "silent" {
				<-ctx.Done()
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	plain := sdk.NewServer(&sdk.Implementation{Name: "plain", Version: "1"}, &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Resources: &sdk.ResourceCapabilities{}}})
	h := newHost(t, nil)
	h.Start([]mcp.Server{
		{Name: "notes", Type: mcp.HTTP, URL: serveEra(t, server, "2026-07-28")},
		{Name: "older", Type: mcp.HTTP, URL: serveEra(t, server, "2025-11-25")},
		{Name: "plain", Type: mcp.HTTP, URL: serveEra(t, plain, "2025-11-25")},
	})
	wait(t, h)
	if err := h.Subscribe(t.Context(), "plain", "note:1"); err == nil {
		t.Error("a server without subscriptions was asked for one")
	}
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := h.Subscribe(brief, "older", "silent"); err == nil || t.Context().Err() != nil {
		t.Errorf("a server that is silent: %v", err)
	}
	made := 0
	for i := range 40 {
		if h.Subscribe(t.Context(), "notes", fmt.Sprint("note:", i)) == nil {
			made++
		}
	}
	if made != 32 {
		t.Errorf("%d subscriptions were made", made)
	}
}

// serveEra serves a server over HTTP that speaks one era only.
func serveEra(t *testing.T, server *sdk.Server, era string) string {
	t.Helper()
	modern := era >= "2026"
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

func await(t *testing.T, from chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("%s did not come", want)
	}
}
