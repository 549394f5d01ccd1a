package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness/servers"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

// A slowServer is an in-process server with one tool, whose calls take until they are
// let go. As a task it answers at once and has the result later.
type slowServer struct {
	asTask bool
	done   atomic.Bool
	free   chan struct{}
}

func (s *slowServer) send(ctx context.Context, _ string, raw json.RawMessage) (json.RawMessage, error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	const text = `{"content":[{"type":"text","text":"forty-two"}]}`
	result := `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"slow","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"think","inputSchema":{"type":"object"}}]}`
		if s.asTask {
			result = `{"tools":[{"name":"think","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`
		}
	case "tools/call":
		result = text
		if s.asTask {
			result = `{"task":{"taskId":"t1","status":"working","pollInterval":50}}`
			break
		}
		select {
		case <-s.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "tasks/get":
		result = `{"taskId":"t1","status":"working","pollInterval":50}`
		if s.done.Load() {
			result = `{"taskId":"t1","status":"completed"}`
		}
	case "tasks/result":
		result = text
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result), nil
}

func (s *slowServer) talk(r *rig, o harness.TalkOptions) *harness.Conversation {
	o.MCP = servers.Given{InProcess: map[string]*mcp.Manifest{"slow": nil}, Send: s.send, Wait: 10 * time.Second, Background: 20 * time.Millisecond}
	return r.talk(harness.Options{Allowed: []string{"mcp__slow"}}, o)
}

// until runs the conversation until see returns true.
func until(t *testing.T, c *harness.Conversation, see func(agent.Event) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for ev, err := range c.Run(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if see(ev) {
			return
		}
	}
	t.Fatal("it did not happen")
}

func said(ev agent.Event) string {
	if res, ok := ev.(agent.Result); ok {
		return res.Text
	}
	return ""
}

var slowTurns = []script.Turn{
	{Blocks: []script.Block{call("mcp__slow__think", `{}`)}},
	{Blocks: []script.Block{{Text: "meanwhile"}}},
	{Blocks: []script.Block{{Text: "thank you"}}},
}

func TestALongCallGoesOnInTheBackground(t *testing.T) {
	r := newRig(t, slowTurns...)
	s := &slowServer{free: make(chan struct{})}
	c := s.talk(r, harness.TalkOptions{})
	defer c.Close(t.Context())
	c.Send(agent.Prompt{Content: []model.Block{model.TextOf("think")}})
	var result, ended string
	until(t, c, func(ev agent.Event) bool {
		switch ev := ev.(type) {
		case agent.Returned:
			result = ev.Outcome.Result.Text()
		case agent.TaskChanged:
			if ev.Change == "ended" {
				ended = ev.Task.Status + ": " + ev.Task.Summary
			}
		case agent.Result:
			if ev.Text == "meanwhile" {
				close(s.free)
			}
		}
		return said(ev) == "thank you"
	})
	if !strings.HasPrefix(result, "The call has taken longer than 20ms and continues in the background as m") {
		t.Errorf("the call returned %q", result)
	}
	if ended != "completed: The call to mcp__slow__think has completed:\nforty-two" {
		t.Errorf("the task ended as %q", ended)
	}
}

func TestALongCallCanBeStopped(t *testing.T) {
	r := newRig(t, slowTurns...)
	s := &slowServer{free: make(chan struct{})}
	c := s.talk(r, harness.TalkOptions{})
	defer c.Close(t.Context())
	c.Send(agent.Prompt{Content: []model.Block{model.TextOf("think")}})
	id := ""
	until(t, c, func(ev agent.Event) bool {
		change, ok := ev.(agent.TaskChanged)
		if ok && change.Change == "started" {
			id = change.Task.ID
		}
		if said(ev) == "meanwhile" {
			if err := c.StopTask(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		return ok && change.Change == "ended" && change.Task.Status == "stopped"
	})
}

func TestAResumedSessionGetsWhatAServerWentOnWith(t *testing.T) {
	r := newRig(t, slowTurns...)
	s := &slowServer{asTask: true}
	c := s.talk(r, harness.TalkOptions{})
	c.Send(agent.Prompt{Content: []model.Block{model.TextOf("think")}})
	until(t, c, func(ev agent.Event) bool { return said(ev) == "meanwhile" })
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.done.Store(true)
	again := s.talk(r, harness.TalkOptions{Continue: true})
	summary := ""
	until(t, again, func(ev agent.Event) bool {
		if change, ok := ev.(agent.TaskChanged); ok {
			summary = change.Task.Summary
		}
		return said(ev) == "thank you"
	})
	if want := "The call to think at the MCP server slow, which was started before the session was interrupted, has completed:\nforty-two"; summary != want {
		t.Errorf("the session was told %q, want %q", summary, want)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := s.talk(r, harness.TalkOptions{Continue: true})
	defer last.Close(t.Context())
	if left := last.Journal().Restored().States["calls"]; string(left) != "[]" {
		t.Errorf("it would be told again: %s", left)
	}
}
