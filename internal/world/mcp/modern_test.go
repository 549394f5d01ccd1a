package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

// newModern is a server of the newer era, by the SDK.
func newModern() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "modern", Version: "2"}, &sdk.ServerOptions{
		Instructions:       "Use it well.",
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	type in struct {
		Name string `json:"name,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "greet"}, func(ctx context.Context, r *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello " + a.Name}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(ctx context.Context, r *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, in) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "grown"}}}, nil, nil
	})
	s.AddResource(&sdk.Resource{URI: "note:1", Name: "note"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "note:1", Text: "text"}}}, nil
	})
	return s
}

func TestTheNewerEraIsSpoken(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			entry := badEntry("modern")
			if transport == "http" {
				server := newModern()
				handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
				web := httptest.NewServer(handler)
				t.Cleanup(func() {
					web.CloseClientConnections()
					web.Close()
				})
				entry = mcp.Server{Name: "bad", Type: mcp.HTTP, URL: web.URL}
			}
			h := newHost(t, nil)
			h.Start([]mcp.Server{entry})
			wait(t, h)
			s := h.Status()[0]
			if s.Protocol != "2026-07-28" || s.Info == nil || s.Info.Name != "modern" || s.Instructions != "Use it well." {
				t.Fatalf("%s %+v %q: %s %q", s.Protocol, s.Info, s.Instructions, s.Error, s.Steps)
			}
			if got := tell(call(t, h, "bad", "greet", `{"name":"Ada"}`)); got != "hello Ada" {
				t.Errorf("call: %s", got)
			}
			contents, err := h.ReadResource(t.Context(), "bad", "note:1")
			if err != nil || len(contents) != 1 || contents[0].Text != "text" {
				t.Errorf("resource: %+v %v", contents, err)
			}
			if got := tell(call(t, h, "bad", "grow", `{}`)); got != "grown" {
				t.Errorf("call: %s", got)
			}
			for end := time.Now().Add(5 * time.Second); !strings.Contains(names(h.Tools()), "mcp__bad__grown"); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the new tool did not join: %s", names(h.Tools()))
				}
			}
		})
	}
}

// taskServer is a server of the newer era that answers a call with a task.
type taskServer struct {
	slow    time.Duration // before the era is told
	mu      sync.Mutex
	polls   int
	answers string
	asked   []string
}

func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var m struct {
		message
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(raw, &m)
	if m.Method == "server/discover" {
		time.Sleep(s.slow)
	}
	if m.Method == "initialize" {
		http.Error(w, "too old", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, m.Method)
	result := `{}`
	switch m.Method {
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	case "tools/list":
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[` + goodTool + `]}`
	case "tools/call":
		result = `{"resultType":"task","taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":50}`
	case "tasks/get":
		s.polls++
		status := `"status":"working"`
		switch {
		case s.answers != "":
			status = `"status":"completed","result":{"content":[{"type":"text","text":"done"}]}`
		case s.polls >= 2:
			status = `"status":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}}}`
		}
		result = `{"resultType":"complete","taskId":"t1","ttlMs":60000,"pollIntervalMs":50,` + status + `}`
	case "tasks/update":
		s.answers = string(m.Params)
	default:
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func TestATaskIsPolledAnsweredAndFetched(t *testing.T) {
	s := new(taskServer)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	h := newHost(t, &mcp.Options{Elicit: func(context.Context, mcp.Elicitation) (mcp.Answer, error) {
		return mcp.Answer{Action: "accept", Content: json.RawMessage(`{"ok":true}`)}, nil
	}})
	h.Start([]mcp.Server{{Name: "bad", Type: mcp.HTTP, URL: web.URL}})
	wait(t, h)
	if got := tell(call(t, h, "bad", "echo", `{}`)); got != "done" {
		t.Errorf("call: %s", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(s.answers, `"q":{"action":"accept","content":{"ok":true}}`) || !strings.Contains(s.answers, `"taskId":"t1"`) {
		t.Errorf("answers: %s", s.answers)
	}
}

func TestAServerOfTheNewerEraMayBeSlow(t *testing.T) {
	web := httptest.NewServer(&taskServer{slow: 600 * time.Millisecond})
	t.Cleanup(web.Close)
	h := newHost(t, nil) // which is patient for half of that
	h.Start([]mcp.Server{{Name: "bad", Type: mcp.HTTP, URL: web.URL}})
	wait(t, h)
	if s := h.Status()[0]; s.State != mcp.Connected || s.Protocol != "2026-07-28" {
		t.Errorf("%s %s: %s, steps %q", s.State, s.Protocol, s.Error, s.Steps)
	}
}

func TestATaskOutlivesItsHost(t *testing.T) {
	s := new(taskServer)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	entry := mcp.Server{Name: "bad", Type: mcp.HTTP, URL: web.URL}
	begun := make(chan mcp.Task, 1)
	first := newHost(t, &mcp.Options{OnTask: func(task mcp.Task) { begun <- task }})
	first.Start([]mcp.Server{entry})
	go first.Call(context.Background(), "bad", "echo", &tool.Call{ID: "c1"})
	task := <-begun
	first.Close()
	s.mu.Lock()
	s.answers = "somebody else gave them"
	cancelled := strings.Contains(strings.Join(s.asked, " "), "tasks/cancel")
	s.mu.Unlock()
	if want := (mcp.Task{Server: "bad", Tool: "echo", ID: "t1", Call: "c1"}); task != want || cancelled {
		t.Errorf("task %+v, cancelled %v", task, cancelled)
	}
	second := newHost(t, nil)
	second.Start([]mcp.Server{entry})
	if got := tell(second.Resume(t.Context(), task)); got != "done" {
		t.Errorf("resumed: %s", got)
	}
}

func TestACancelledTaskIsCancelledAtTheServer(t *testing.T) {
	s := new(taskServer)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	h := newHost(t, nil)
	h.Start([]mcp.Server{{Name: "bad", Type: mcp.HTTP, URL: web.URL}})
	wait(t, h)
	ctx, cancel := context.WithTimeout(t.Context(), 70*time.Millisecond)
	defer cancel()
	if _, err := h.Call(ctx, "bad", "echo", new(tool.Call)); err == nil {
		t.Fatal("the call ended well")
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		asked := strings.Join(s.asked, " ")
		s.mu.Unlock()
		if strings.Contains(asked, "tasks/cancel") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server was asked: %s", asked)
		}
	}
}

// A server of the newer era that wants a login refuses the handshake of the older as a bad
// request, whoever sends it.
func TestAProtectedServerOfTheNewerEraNeedsALogin(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"initialize"`) {
			http.Error(w, "unknown method", http.StatusBadRequest)
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer web.Close()
	h := newHost(t, nil)
	h.Start([]mcp.Server{{Name: "safe", Type: mcp.HTTP, URL: web.URL}})
	if err := h.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Status()[0]; s.State != mcp.NeedsAuth {
		t.Errorf("%s: %s", s.State, s.Error)
	}
}

// What a user reads about a server that is not there names the server and the cause.
func TestAnUnreachableServerIsNamedPlainly(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	web.Close()
	h := newHost(t, nil)
	h.Start([]mcp.Server{{Name: "gone", Type: mcp.HTTP, URL: web.URL}})
	if err := h.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, want := h.Status()[0], "could not connect to "+web.URL+": connection refused"; s.State != mcp.Failed || s.Error != want {
		t.Errorf("%s: %q, want %q", s.State, s.Error, want)
	}
}
