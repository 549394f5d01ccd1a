package wirelog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/wirelog"
	"github.com/haftdev/haft/tool"
)

// newServer is a server of either era that gives away a secret.
func newServer(t *testing.T, modern bool) string {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	type in struct {
		City     string `json:"city"`
		Password string `json:"password,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "weather"}, func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "sunny in " + a.City + " for Bearer abcdefgh12345 and tuesday-key"}}, IsError: a.City == "Atlantis"}, nil, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: modern}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

func TestARecordedServerIsPlayedBackWithoutItsSecrets(t *testing.T) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			dir := t.TempDir()
			log := wirelog.New(dir, &wirelog.Options{Secrets: func(string) []string { return []string{"tuesday-key", "x"} }})
			h := mcp.NewHost(&mcp.Options{OnMessage: log.Message})
			h.Start([]mcp.Server{{Name: "a/b", Type: mcp.HTTP, URL: newServer(t, era == "2026-07-28")}})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := h.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			for _, city := range []string{"Ulm", "Atlantis"} {
				if _, err := h.Call(ctx, "a/b", "weather", &tool.Call{Input: json.RawMessage(`{"city":"` + city + `","password":"hunter2"}`)}); err != nil {
					t.Fatal(err)
				}
			}
			h.Close()
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(wirelog.Path(dir, "a/b"))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"hunter2", "abcdefgh12345", "tuesday-key"} {
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("the log has %s", secret)
				}
			}
			records, err := wirelog.Read(bytes.NewReader(append(text, `{"cut`...)))
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, connectionOnly(records)...) // haft mcp get
			played, err := wirelog.Replay(ctx, records)
			if err != nil {
				t.Fatal(err)
			}
			if s := played.Status; s.State != mcp.Connected || s.Protocol != era || len(s.Tools) != 1 {
				t.Errorf("%s %s %q, %d tools, steps %q", s.State, s.Protocol, s.Error, len(s.Tools), s.Steps)
			}
			input := func(city string) json.RawMessage {
				return json.RawMessage(`{"city":"` + city + `","password":"***"}`)
			}
			want := []wirelog.Call{
				{Tool: "weather", Input: input("Ulm"), Text: "sunny in Ulm for *** and ***"},
				{Tool: "weather", Input: input("Atlantis"), Text: "sunny in Atlantis for *** and ***", Failed: true},
			}
			if d := cmp.Diff(want, played.Calls); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
		})
	}
}

// connectionOnly are the records of a later process that connected and called nothing.
func connectionOnly(records []wirelog.Record) []wirelog.Record {
	var list []wirelog.Record
	for _, r := range records {
		if bytes.Contains(r.Message, []byte(`"tools/call"`)) {
			break
		}
		r.PID++
		list = append(list, r)
	}
	return list
}

func TestALogHasAnEnd(t *testing.T) {
	const limit = 10_000
	dir := t.TempDir()
	first, second := wirelog.New(dir, &wirelog.Options{MaxBytes: limit}), wirelog.New(dir, &wirelog.Options{MaxBytes: limit})
	for range 500 {
		for _, l := range []*wirelog.Log{first, second} {
			l.Message("s", true, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		}
	}
	first.Message("s", false, []byte(`{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", 2<<20)+`"}`))
	for _, l := range []*wirelog.Log{first, second} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, path := range []string{wirelog.Path(dir, "s"), wirelog.Older(wirelog.Path(dir, "s"))} {
		info, err := os.Stat(path)
		if err != nil || info.Size() > limit+1000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v, %v", path, info.Size(), info.Mode(), err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wirelog.Read(f); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		f.Close()
	}
}

func TestALogThatCannotBeWrittenHoldsNobody(t *testing.T) {
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := wirelog.New(path+"/below", nil)
	log.Message("s", true, []byte(`{}`))
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoLogIsSaid(t *testing.T) {
	if _, err := wirelog.Read(strings.NewReader("{\"at\":\"2026-01-01T00:00:00Z\",\"message\":{}}\nhello\n")); err == nil || err.Error() != "line 2 is not a record of an MCP log" {
		t.Error(err)
	}
	if _, err := wirelog.Replay(t.Context(), nil); err == nil || err.Error() != "the log has no answers from a server" {
		t.Error(err)
	}
}
