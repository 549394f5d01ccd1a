package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/serve"
	"github.com/haftdev/haft/tool"
)

// eras are the two protocols.
var eras = []string{"2025-11-25", "2026-07-28"}

// A callerFunc is a pipeline in one function.
type callerFunc func(context.Context, serve.Call) (tool.Result, error)

func (f callerFunc) Call(ctx context.Context, c serve.Call) (tool.Result, error) { return f(ctx, c) }

func newServer(t *testing.T, caller callerFunc) *serve.Server {
	t.Helper()
	s, err := serve.New([]serve.Tool{
		{Name: "Work", Title: "Do work", Description: "Works.", Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
			Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`), Hints: serve.Hints{ReadOnly: true, Closed: true}},
		{Name: "Break", Description: "Breaks.", Input: json.RawMessage(`{"type":"object"}`)},
	}, caller, &serve.Options{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// everyWay runs a test over each transport in each era.
func everyWay(t *testing.T, caller callerFunc, opts *sdk.ClientOptions, test func(*testing.T, *sdk.ClientSession)) {
	for _, era := range eras {
		t.Run("stdio "+era, func(t *testing.T) { test(t, overStdio(t, newServer(t, caller), opts, era)) })
		t.Run("http "+era, func(t *testing.T) { test(t, overHTTP(t, newServer(t, caller), opts, era)) })
	}
}

func connect(t *testing.T, transport sdk.Transport, opts *sdk.ClientOptions, era string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func overStdio(t *testing.T, s *serve.Server, opts *sdk.ClientOptions, era string) *sdk.ClientSession {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.Stdio(context.Background(), serverIn, serverOut)
		serverOut.Close()
	}()
	t.Cleanup(func() {
		clientOut.Close()
		if err := <-done; err != nil {
			t.Errorf("stdio ended with %v", err)
		}
	})
	return connect(t, &sdk.IOTransport{Reader: clientIn, Writer: clientOut}, opts, era)
}

func overHTTP(t *testing.T, s *serve.Server, opts *sdk.ClientOptions, era string) *sdk.ClientSession {
	web := httptest.NewServer(s.Handler(nil))
	t.Cleanup(func() {
		s.Close()
		web.CloseClientConnections()
		web.Close()
	})
	return connect(t, &sdk.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, opts, era)
}

func work(t *testing.T, ctx context.Context, c *sdk.ClientSession, n int) *sdk.CallToolResult {
	t.Helper()
	r, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "Work", Arguments: map[string]any{"n": n}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(r *sdk.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "\n")
}

func TestToolsAreDescribedWhole(t *testing.T) {
	everyWay(t, nil, nil, func(t *testing.T, c *sdk.ClientSession) {
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		yes, no := true, false
		want := []*sdk.Tool{
			{Name: "Break", Description: "Breaks.", InputSchema: map[string]any{"type": "object"},
				Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}},
			{Name: "Work", Title: "Do work", Description: "Works.", InputSchema: schemaOfN, OutputSchema: schemaOfN,
				Annotations: &sdk.ToolAnnotations{Title: "Do work", ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}},
		}
		if diff := cmp.Diff(want, list.Tools); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
	})
}

var schemaOfN = map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}

func TestResultsKeepTheirKinds(t *testing.T) {
	caller := func(_ context.Context, c serve.Call) (tool.Result, error) {
		if c.Tool == "Break" {
			return tool.Failure("<tool_use_error>no such file</tool_use_error>"), nil
		}
		return tool.Result{
			Content: []tool.Block{
				{Type: tool.TextBlock, Text: "got " + string(c.Input)},
				{Type: tool.ImageBlock, MediaType: "image/png", Data: []byte("png")},
				{Type: tool.DocumentBlock, MediaType: "application/pdf", Data: []byte("pdf")},
			},
			Output: map[string]int{"n": 7},
		}, nil
	}
	everyWay(t, caller, nil, func(t *testing.T, c *sdk.ClientSession) {
		got := work(t, t.Context(), c, 7)
		want := []sdk.Content{
			&sdk.TextContent{Text: `got {"n":7}`},
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "haft://result/document/3", MIMEType: "application/pdf", Blob: []byte("pdf")}},
		}
		if diff := cmp.Diff(want, got.Content); diff != "" {
			t.Errorf("content (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]any{"n": 7.0}, got.StructuredContent); diff != "" {
			t.Errorf("structured content (-want +got):\n%s", diff)
		}
		failed, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "Break"})
		if err != nil {
			t.Fatal(err)
		}
		if !failed.IsError || text(failed) != "no such file" || failed.StructuredContent != nil {
			t.Errorf("a failed call gives %+v %q", failed, text(failed))
		}
	})
}

func TestLongStructuredContentKeepsItsShape(t *testing.T) {
	long := strings.Repeat("ä", 300_000)
	caller := func(context.Context, serve.Call) (tool.Result, error) {
		return tool.Result{Output: map[string]any{"n": 1, "all": []string{long, "short"}}}, nil
	}
	c := overStdio(t, newServer(t, caller), nil, eras[0])
	got := work(t, t.Context(), c, 1).StructuredContent.(map[string]any)
	all := got["all"].([]any)
	if cut := all[0].(string); len(cut) > 11_000 || !strings.HasSuffix(cut, "… (590000 bytes cut)") || all[1] != "short" || got["n"] != 1.0 {
		t.Errorf("got %d bytes ending in %q, %v, %v", len(cut), cut[len(cut)-30:], all[1], got["n"])
	}
}

func TestProgressIsReported(t *testing.T) {
	caller := func(_ context.Context, c serve.Call) (tool.Result, error) {
		c.Progress(tool.BashProgress{Output: "compiling a\ncompiling b\n"})
		c.Progress(tool.TextProgress{Text: "linking"})
		return tool.Text("done"), nil
	}
	reports := make(chan *sdk.ProgressNotificationParams, 10)
	opts := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		reports <- r.Params
	}}
	everyWay(t, caller, opts, func(t *testing.T, c *sdk.ClientSession) {
		params := &sdk.CallToolParams{Name: "Work", Arguments: map[string]any{}}
		params.SetProgressToken("token")
		if _, err := c.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		last := 0.0
		for _, want := range []string{"compiling b", "linking"} {
			select {
			case got := <-reports:
				if got.Message != want || got.Progress <= last {
					t.Errorf("progress %v %q after %v, want %q", got.Progress, got.Message, last, want)
				}
				last = got.Progress
			case <-time.After(5 * time.Second):
				t.Fatalf("no progress, want %q", want)
			}
		}
	})
}

func TestCancelledCallEnds(t *testing.T) {
	started, ended := make(chan struct{}), make(chan time.Time)
	caller := func(ctx context.Context, c serve.Call) (tool.Result, error) {
		if c.Tool == "Break" {
			return tool.Text("still here"), nil
		}
		close(started)
		<-ctx.Done()
		ended <- time.Now()
		return tool.Failure("cancelled"), nil
	}
	everyWay(t, caller, nil, func(t *testing.T, c *sdk.ClientSession) {
		started = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "Work", Arguments: map[string]any{}})
			failed <- err
		}()
		<-started
		begin := time.Now()
		cancel()
		select {
		case end := <-ended:
			t.Logf("ended after %v", end.Sub(begin))
		case <-time.After(5 * time.Second):
			t.Error("the call goes on")
		}
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "Break"}); err != nil || text(r) != "still here" {
			t.Errorf("the next call: %v", err)
		}
	})
}

func TestClientThatIsGoneEndsItsCalls(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan struct{})
			s := newServer(t, func(ctx context.Context, c serve.Call) (tool.Result, error) {
				close(started)
				<-ctx.Done()
				close(ended)
				return tool.Failure("cancelled"), nil
			})
			in, client := io.Pipe()
			done := make(chan error)
			go func() { done <- s.Stdio(context.Background(), in, io.Discard) }()
			meta := ""
			if era == eras[0] {
				io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
				io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
			} else {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
			}
			io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Work","arguments":{}`+meta+`}}`+"\n")
			<-started
			client.Close()
			select {
			case <-ended:
			case <-time.After(5 * time.Second):
				t.Fatal("the call goes on")
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStdioIsRobust gives the server everything at once, with what is no message in
// between, and then leaves: all is answered, in order, and standard output holds
// messages only.
func TestStdioIsRobust(t *testing.T) {
	s := newServer(t, func(ctx context.Context, c serve.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Failure("ended: " + context.Cause(ctx).Error()), nil
	})
	in := strings.Join([]string{
		"hello?", "", "\r", "{", `{"jsonrpc":"2.0"}`, "\xff\xfe",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		strings.Repeat("x", 33<<20),
		`{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"Work","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"ping"}`,
	}, "\n")
	var out strings.Builder
	if err := s.Stdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID     json.RawMessage
			Error  *struct{ Code int }
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if m.Error != nil && m.Error.Code != -32700 {
			t.Errorf("an error: %s", line)
		}
		answers[string(m.ID)] += string(m.Result) + "\n"
	}
	if got := answers["null"]; got != "\n\n\n\n\n" {
		t.Errorf("%d lines were refused, want 5", len(got))
	}
	if !strings.Contains(answers["1"], `"protocolVersion":"2025-11-25"`) || !strings.Contains(answers[`"two"`], "ended: the server was closed") || answers["3"] == "" {
		t.Errorf("answers: %q", answers)
	}
}

// FuzzStdio feeds a server anything: it ends, writes whole messages only, and what
// follows is still answered.
func FuzzStdio(f *testing.F) {
	f.Add([]byte("hello\n{}\n[]\n[1]\nnull\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"result":{}}]`))
	f.Fuzz(func(t *testing.T, garbage []byte) {
		s, err := serve.New(nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		const ping = "\n" + `{"jsonrpc":"2.0","id":"after all","method":"ping"}` + "\n"
		if err := s.Stdio(t.Context(), strings.NewReader(string(garbage)+ping), &out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("wrote %q", line)
			}
		}
		if !strings.Contains(out.String(), `"after all"`) {
			t.Errorf("not answered: %q", out.String())
		}
	})
}

func TestGuard(t *testing.T) {
	const token = "s3cret"
	tests := []struct {
		name    string
		opts    *serve.HTTPOptions
		host    string
		headers map[string]string
		want    int
	}{
		{"a program on this machine", nil, "", nil, 200},
		{"a program that says localhost", nil, "localhost:1234", nil, 200},
		{"a name that leads to this machine", nil, "evil.example", nil, 403},
		{"a name that begins like this machine", nil, "localhost.evil.example", nil, 403},
		{"a page of this machine", nil, "", map[string]string{"Origin": "http://localhost:3000"}, 200},
		{"a page of another machine", nil, "", map[string]string{"Origin": "https://evil.example"}, 403},
		{"a page of nowhere", nil, "", map[string]string{"Origin": "null"}, 403},
		{"a page that is allowed", &serve.HTTPOptions{Origins: []string{"https://good.example"}}, "", map[string]string{"Origin": "https://good.example"}, 200},
		{"no token", &serve.HTTPOptions{Token: token}, "", nil, 401},
		{"a wrong token", &serve.HTTPOptions{Token: token}, "", map[string]string{"Authorization": "Bearer s3cre"}, 401},
		{"the token in another scheme", &serve.HTTPOptions{Token: token}, "", map[string]string{"Authorization": "Basic s3cret"}, 401},
		{"the token", &serve.HTTPOptions{Token: token}, "build.example", map[string]string{"Authorization": "Bearer s3cret"}, 200},
		{"the token from a page of another machine", &serve.HTTPOptions{Token: token}, "", map[string]string{"Authorization": "Bearer s3cret", "Origin": "https://evil.example"}, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			web := httptest.NewServer(newServer(t, nil).Handler(tt.opts))
			defer web.Close()
			req, err := http.NewRequest(http.MethodPost, web.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = tt.host
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for k, v := range tt.headers {
				req.Header.Set(k, v)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != tt.want {
				t.Errorf("status %d, want %d: %s", resp.StatusCode, tt.want, body)
			}
		})
	}
}

// TestGuardWithoutTokenAnswersLoopbackOnly gives the handler a connection that
// came in from elsewhere, as it would on a listener for all addresses.
func TestGuardWithoutTokenAnswersLoopbackOnly(t *testing.T) {
	h := newServer(t, nil).Handler(nil)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil) // its connection has no address
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
}
