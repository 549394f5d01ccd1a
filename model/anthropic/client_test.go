package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/models/streamtest"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
)

// serve starts a scripted model, and a client of it.
func serve(t testing.TB, answer script.AnswerFunc, opts *Options) (*script.Server, *Client) {
	t.Helper()
	srv, err := scripttest.Serve(t, &script.Options{Answer: answer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	var o Options
	if opts != nil {
		o = *opts
	}
	o.BaseURL = srv.URL()
	if o.Key == "" {
		o.Key = "k"
	}
	return srv, New(&o)
}

func says(text string) script.AnswerFunc {
	return func(*script.Request) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }
}

func TestHeaders(t *testing.T) {
	env := map[string]string{
		"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t",
		"ANTHROPIC_CUSTOM_HEADERS": "X-One: 1\nx-app: mine\nAnthropic-Beta: claude-code-20250219\nnonsense\n",
	}
	opts := FromEnv(func(name string) string { return env[name] })
	srv, m := serve(t, says("hi"), opts)
	req := question(t, "hi")
	req.Session, req.Betas = "s1", []string{"fine-grained-tool-streaming-2025-05-14"}
	if _, err := streamtest.Collect(m, req); err != nil {
		t.Fatal(err)
	}
	got := srv.Requests()[0]
	for name, want := range map[string]string{
		"X-Api-Key": "k", "Authorization": "Bearer t", "X-One": "1", "X-App": "mine", "Anthropic-Version": "2023-06-01",
		"User-Agent": "haft", "X-Haft-Session-Id": "s1", "Anthropic-Beta": "claude-code-20250219,fine-grained-tool-streaming-2025-05-14," + betaBinding, "Accept": "text/event-stream",
	} {
		if h := got.Header.Get(name); h != want {
			t.Errorf("%s is %q, want %q", name, h, want)
		}
	}
	if got.Path != "/v1/messages" || got.Session != "s1" || got.Header.Get("Content-Length") == "" && got.Header.Get("Transfer-Encoding") != "" {
		t.Errorf("path %s, session %s", got.Path, got.Session)
	}
}

func TestBaseURLs(t *testing.T) {
	for base, want := range map[string]string{
		"":                             "https://api.anthropic.com/v1/messages",
		"http://h/":                    "http://h/v1/messages",
		"http://h/v1":                  "http://h/v1/messages",
		"https://h/gateway/anthropic/": "https://h/gateway/anthropic/v1/messages",
	} {
		if got := New(&Options{BaseURL: base}).url; got != want {
			t.Errorf("%q is asked at %q, want %q", base, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	soon := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		name  string
		fault script.Fault
		kind  model.ErrorKind
		after time.Duration // of an hour, a minute may have passed
		retry bool
		says  string
	}{
		{"a bad key", script.Fault{Status: 401, Message: "invalid x-api-key"}, model.Unauthorized, 0, false, "invalid x-api-key. Check ANTHROPIC_API_KEY"},
		{"no right", script.Fault{Status: 403}, model.Unauthorized, 0, false, "rejected the credentials"},
		{"no money", script.Fault{Status: 400, Message: "Your credit balance is too low"}, model.Billing, 0, false, "Add credit"},
		{"no such model", script.Fault{Status: 404, Message: "model: x"}, model.UnknownModel, 0, false, `there is no model "claude-opus-5-5" at http://`},
		{"a bad block", script.Fault{Status: 400, Message: "messages.3.content.0: tool_use_id not found"}, model.InvalidRequest, 0, false, "messages.3.content.0"},
		{"too long", script.Fault{Status: 400, Message: "prompt is too long: 208310 tokens > 200000 maximum"}, model.PromptTooLong, 0, false, "Compact the conversation"},
		{"too large", script.Fault{Status: 413}, model.PromptTooLong, 0, false, "Compact the conversation"},
		{"too often", script.Fault{Status: 429, RetryAfter: "7"}, model.RateLimited, 7 * time.Second, true, "rate limit"},
		{"too often, by date", script.Fault{Status: 429, RetryAfter: soon}, model.RateLimited, time.Hour, true, "rate limit"},
		{"too often, by the millisecond", script.Fault{Status: 429, RetryAfter: "9", Headers: map[string]string{"Retry-After-Ms": "1500"}}, model.RateLimited, 1500 * time.Millisecond, true, "rate limit"},
		{"overloaded", script.Fault{Status: 529}, model.Overloaded, 0, true, "overloaded"},
		{"failed", script.Fault{Status: 500}, model.ServerFailure, 0, true, "server failed"},
		{"failed and will again", script.Fault{Status: 500, Headers: map[string]string{"X-Should-Retry": "false"}}, model.ServerFailure, 0, false, "server failed"},
		{"a page of a proxy", script.Fault{Status: 502, Body: "<html><head><title>502 Bad\nGateway</title></head></html>", ContentType: "text/html"}, model.ServerFailure, 0, true, "a web page, “502 Bad Gateway”"},
		{"plain text", script.Fault{Status: 503, Body: "upstream connect error", ContentType: "text/plain"}, model.ServerFailure, 0, true, "upstream connect error"},
		{"nothing", script.Fault{Status: 503, Body: " "}, model.ServerFailure, 0, true, "service unavailable"},
		{"a login page", script.Fault{Body: "<!doctype html><html>Log in</html>", ContentType: "text/html"}, model.Garbled, 0, false, "text/html instead of an event stream"},
		{"an error with status 200", script.Fault{Body: `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, ContentType: "application/json"}, model.Overloaded, 0, true, "overloaded"},
		{"another API's document", script.Fault{Body: `{"choices":[]}`, ContentType: "application/json"}, model.Garbled, 0, true, "not a message"},
		{"somewhere else", script.Fault{Status: 307, Headers: map[string]string{"Location": "http://evil"}}, model.InvalidRequest, 0, false, "http://evil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, m := serve(t, func(*script.Request) script.Turn { return script.Turn{Fault: c.fault} }, nil)
			events, err := streamtest.Collect(m, question(t, "hi"))
			e, ok := errors.AsType[*model.Error](err)
			if !ok || len(events) > 0 {
				t.Fatalf("got %v after %v", err, events)
			}
			if e.Kind != c.kind || e.Temporary() != c.retry || c.after-e.RetryAfter > c.after/60 || e.RetryAfter > c.after {
				t.Errorf("kind %s, temporary %v, retry after %v", e.Kind, e.Temporary(), e.RetryAfter)
			}
			if !strings.Contains(e.Message, c.says) {
				t.Errorf("says %q, want %q in it", e.Message, c.says)
			}
		})
	}
}

func TestNoKey(t *testing.T) {
	srv, err := script.Serve(nil) // it refuses as the API does
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	_, err = streamtest.Collect(New(&Options{BaseURL: srv.URL()}), question(t, "hi"))
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.Unauthorized || !strings.Contains(e.Message, "Set ANTHROPIC_API_KEY") {
		t.Errorf("got %v", err)
	}
}

func TestStreamsUnderAnotherName(t *testing.T) {
	for name, fault := range map[string]script.Fault{
		"text":    {ContentType: "text/plain"},
		"nothing": {ContentType: "application/octet-stream"},
	} {
		_, m := serve(t, func(*script.Request) script.Turn {
			return script.Turn{Blocks: []script.Block{{Text: "hi"}}, Fault: fault}
		}, nil)
		if events, err := streamtest.Collect(m, question(t, "hi")); err != nil || len(events) != 5 {
			t.Errorf("%s: %v after %s", name, err, streamtest.Show(events))
		}
	}
}

func TestServersThatDoNotStream(t *testing.T) {
	doc := `{"id":"m","type":"message","model":"x","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"A","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`
	_, m := serve(t, func(*script.Request) script.Turn {
		return script.Turn{Fault: script.Fault{Body: doc, ContentType: "application/json"}}
	}, nil)
	events, err := streamtest.Collect(m, question(t, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	usage := model.Usage{Input: 1, Output: 2}
	want := []model.Event{
		model.Start{ID: "m", Model: "x", Usage: usage},
		model.BlockStart{Block: model.Block{Type: model.Text}},
		model.Delta{Type: model.TextDelta, Text: "hi"},
		model.BlockStop{Block: model.TextOf("hi")},
		model.BlockStart{Index: 1, Block: model.Block{Type: model.ToolUse, ID: "t", Name: "A"}},
		model.BlockStop{Index: 1, Block: model.Block{Type: model.ToolUse, ID: "t", Name: "A", Input: []byte(`{"a":1}`)}},
		model.Stop{Reason: model.StopToolUse, Usage: usage},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestServersThatKnowLessAreAskedForLess(t *testing.T) {
	srv, m := serve(t, func(r *script.Request) script.Turn {
		if strings.Contains(string(r.Body), `"thinking"`) {
			return script.Turn{Fault: script.Fault{Status: 400, Message: "thinking.type: adaptive is not supported"}}
		}
		return script.Turn{Blocks: []script.Block{{Text: "hi"}}}
	}, nil)
	for range 2 {
		if _, err := streamtest.Collect(m, question(t, "hi")); err != nil {
			t.Fatal(err)
		}
	}
	if srv.Total() != 3 {
		t.Errorf("%d requests, want 3: the client remembers", srv.Total())
	}
}

func TestCallsWithoutAThoughtAreGoneOnFromWithoutOne(t *testing.T) {
	srv, m := serve(t, func(r *script.Request) script.Turn {
		if strings.Contains(string(r.Body), `"thinking":{"type":"enabled"`) && r.Turn > 0 {
			return script.Turn{Fault: script.Fault{Status: 400, Message: "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. " +
				"When `thinking` is enabled, a final `assistant` message must start with a thinking block"}}
		}
		return script.Turn{Blocks: []script.Block{{Text: "hi"}}}
	}, nil)
	req := question(t, "hi")
	req.Model = "claude-sonnet-4-5"
	call := model.Block{Type: model.ToolUse, ID: "u", Name: "A", Input: json.RawMessage("{}")}
	result := model.Block{Type: model.ToolResult, UseID: "u", Content: tool.Text("done").Content}
	if err := req.Messages.Append(model.Message{Role: model.Assistant, Content: []model.Block{call}}, model.Message{Role: model.User, Content: []model.Block{result}}); err != nil {
		t.Fatal(err)
	}
	if _, err := streamtest.Collect(m, req); err != nil || srv.Total() != 2 {
		t.Errorf("%v after %d requests", err, srv.Total())
	}
	if _, err := streamtest.Collect(m, &model.Request{Model: req.Model, Messages: req.Messages.Prefix(1)}); err != nil {
		t.Fatal(err)
	}
	if last := string(srv.Requests()[2].Body); !strings.Contains(last, `"thinking":{"type":"enabled"`) {
		t.Errorf("another conversation goes without thinking, too: %s", last)
	}
}

func TestSilence(t *testing.T) {
	for name, after := range map[string]int{"before anything": 0, "in the middle": 2} {
		patience := &Options{Idle: 50 * time.Millisecond, FirstByte: time.Minute}
		if after == 0 {
			patience = &Options{Idle: time.Minute, FirstByte: 50 * time.Millisecond}
		}
		_, m := serve(t, func(*script.Request) script.Turn {
			return script.Turn{Blocks: []script.Block{{Text: "hi"}}, Fault: script.Fault{Break: script.Hang, After: after}}
		}, patience)
		events, err := streamtest.Collect(m, question(t, "hi"))
		e, ok := errors.AsType[*model.Error](err)
		if !ok || e.Kind != model.Stalled || !e.Temporary() || len(events) > after { // fewer on a busy machine
			t.Errorf("%s: %v after %d events", name, err, len(events))
		}
	}
}

func TestASlowDripIsNoSilence(t *testing.T) {
	_, m := serve(t, func(*script.Request) script.Turn {
		return script.Turn{Blocks: []script.Block{{Text: "hi"}}, Fault: script.Fault{Drip: 1}}
	}, &Options{Idle: time.Second, FirstByte: time.Second})
	if events, err := streamtest.Collect(m, question(t, "hi")); err != nil || len(events) != 5 {
		t.Errorf("%v after %d events", err, len(events))
	}
}

func TestNobodyThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	_, err = streamtest.Collect(New(&Options{BaseURL: "http://" + ln.Addr().String()}), question(t, "hi"))
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.ConnectionLost || !strings.Contains(e.Message, "cannot reach "+ln.Addr().String()) {
		t.Errorf("got %v", err)
	}
	for _, base := range []string{"localhost:8080", "://", "ftp://x"} {
		_, err = streamtest.Collect(New(&Options{BaseURL: base}), question(t, "hi"))
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.InvalidRequest || !strings.Contains(e.Message, "address") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestCancelAndLeave(t *testing.T) {
	_, m := serve(t, says(strings.Repeat("hello ", 1000)), nil)
	ctx, cancel := context.WithCancel(context.Background())
	var last error
	for ev, err := range m.Stream(ctx, question(t, "hi")) {
		if last = err; err != nil {
			break
		}
		if _, ok := ev.(model.BlockStart); ok {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("a cancelled stream ends with %v", last)
	}
	for range m.Stream(context.Background(), question(t, "hi")) {
		break // nothing is left behind, which the race detector and the server's Close see
	}
	ctx, cancel = context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	for _, err := range m.Stream(ctx, question(t, "hi")) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stream after its time ends with %v", err)
		}
	}
}

// counting counts the connections that are made.
type counting struct {
	net.Listener
	n atomic.Int64
}

func (c *counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count := &counting{Listener: ln}
	srv, err := scripttest.Serve(t, &script.Options{Listener: count, Answer: says("hi")})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	m := New(&Options{BaseURL: srv.URL(), Key: "k"})
	for range 50 {
		for ev, err := range m.Stream(context.Background(), question(t, "hi")) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(model.Stop); ok {
				break // as whoever has heard enough does
			}
		}
	}
	if n := count.n.Load(); n > 5 { // a busy machine may be late with the last bytes
		t.Errorf("50 turns took %d connections", n)
	}
}

// What a turn on loopback costs, and how much of that is HTTP.
func BenchmarkTurn(b *testing.B) {
	srv, m := serve(b, says("hi"), nil)
	req := question(b, "hi")
	b.Run("client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := streamtest.Collect(m, req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare HTTP", func(b *testing.B) {
		b.ReportAllocs()
		body, header := sent(b, req), srv.Requests()[0].Header // those of the client
		for b.Loop() {
			r, err := http.NewRequest(http.MethodPost, srv.URL()+"/v1/messages", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			r.Header = header
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	})
}

// The token of a subscription stands in for a key, and the API is told that it is one.
func TestATokenOfASubscription(t *testing.T) {
	env := map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "tin", "ANTHROPIC_CUSTOM_HEADERS": "anthropic-beta: mine"}
	get := func(name string) string { return env[name] }
	h := baseHeader(FromEnv(get))
	if h.Get("Authorization") != "Bearer tin" || h.Get("Anthropic-Beta") != "mine,oauth-2025-04-20" {
		t.Errorf("the header is %v", h)
	}
	env["ANTHROPIC_API_KEY"] = "key"
	if h := baseHeader(FromEnv(get)); h.Get("Authorization") != "" || h.Get("Anthropic-Beta") != "mine" {
		t.Errorf("with a key, the header is %v", h)
	}
}
