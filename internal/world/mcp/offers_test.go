package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

func TestAnEntryChoosesAmongTheToolsAndExcludingWins(t *testing.T) {
	c := &calculator{tools: addTool}
	h := newHost(t, &mcp.Options{Send: c.send})
	h.Start([]mcp.Server{
		{Name: "1", Type: mcp.SDK, Include: []string{"add"}},
		{Name: "2", Type: mcp.SDK, Exclude: []string{"add"}},
		{Name: "3", Type: mcp.SDK, Include: []string{"add", "wait"}, Exclude: []string{"wait"}},
	})
	wait(t, h)
	if got := names(h.Tools()); got != "mcp__1__add mcp__2__wait mcp__3__add" {
		t.Errorf("tools: %s", got)
	}
	if s := h.Status()[2].Tools[1]; s.Name != "wait" || s.Disabled != "excluded by the server's entry" {
		t.Errorf("%+v", s)
	}
}

func TestACallWithoutArgumentsSendsNone(t *testing.T) {
	h := newHost(t, &mcp.Options{Send: (&calculator{tools: addTool}).send})
	h.Start([]mcp.Server{{Name: "calc", Type: mcp.SDK}})
	wait(t, h)
	for _, input := range []string{"", "null", "{}"} {
		if got := tell(call(t, h, "calc", "add", input)); got != "{}" {
			t.Errorf("%q was sent as %s", input, got)
		}
	}
}

// TestTheBlockOfToolsStaysTheSame is what the prompt cache of a provider lives on.
// bench/mcp does the same with a hundred starts of processes.
func TestTheBlockOfToolsStaysTheSame(t *testing.T) {
	c := &calculator{tools: addTool}
	late := func(ctx context.Context, server string, raw json.RawMessage) (json.RawMessage, error) {
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
		return c.send(ctx, server, raw)
	}
	var first []byte
	for range 10 {
		servers := []mcp.Server{{Name: "b", Type: mcp.SDK}, {Name: "a", Type: mcp.SDK}, {Name: "c", Type: mcp.SDK}}
		rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		h := newHost(t, &mcp.Options{Send: late})
		h.Start(servers)
		wait(t, h)
		block := func() []byte { return tool.NewSet(nil, nil, h.Tools(), nil).Request() }
		if first == nil {
			first = block()
		}
		if err := h.Reconnect(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if got := block(); !bytes.Equal(first, got) {
			t.Fatalf("the block changed:\n%s\n%s", first, got)
		}
		h.Close()
	}
}

func TestStructuredContentThatDoesNotFitIsAWarning(t *testing.T) {
	var log bytes.Buffer
	c := &calculator{tools: `{"name":"add","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}}`}
	send := func(ctx context.Context, server string, raw json.RawMessage) (json.RawMessage, error) {
		reply, err := c.send(ctx, server, raw)
		return bytes.Replace(reply, []byte(`"content":[`), []byte(`"structuredContent":{"sum":"many"},"content":[`), 1), err
	}
	h := newHost(t, &mcp.Options{Send: send, Log: slog.New(slog.NewTextHandler(&log, nil))})
	h.Start([]mcp.Server{{Name: "calc", Type: mcp.SDK}})
	wait(t, h)
	if got := tell(call(t, h, "calc", "add", `{}`)); got != "{}\n{\"sum\":\"many\"}" {
		t.Errorf("call: %s", got)
	}
	h.Close()
	if !strings.Contains(log.String(), "does not match the tool's outputSchema") {
		t.Errorf("log: %s", log.String())
	}
}
