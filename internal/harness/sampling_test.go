package harness_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness/servers"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model/script"
)

// An asker is an in-process server that asks for the model's help.
type asker struct {
	notebook
	answers chan string
}

func (a *asker) send(ctx context.Context, server string, raw json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(raw), `"id":77`) && !strings.Contains(string(raw), `"method"`) {
		a.answers <- string(raw)
		return nil, nil
	}
	return a.notebook.send(ctx, server, raw)
}

func TestAServerUsesTheModel(t *testing.T) {
	const question = `{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{"maxTokens":50,"systemPrompt":"Count.",
		"messages":[{"role":"user","content":{"type":"text","text":"how many kiwis?"}},
			{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","toolUseId":"t1","content":[{"type":"text","text":"three"}]}]}],
		"tools":[{"name":"look","description":"looks","inputSchema":{"type":"object"}}]}}`
	for _, c := range []struct {
		name, settings, action string
		want                   string
	}{
		{"that is switched on and agreed to", `{"mcp":{"sampling":true}}`, "accept", `"text":"three of them"`},
		{"that the user declines", `{"mcp":{"sampling":true}}`, "decline", `sampling was not approved`},
		{"beyond its budget", `{"mcp":{"sampling":true,"samplingTokens":40}}`, "accept", `40 of 40 tokens left`},
		{"that is not switched on", `{}`, "accept", `"error"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "three of them"}}}, script.Turn{Blocks: []script.Block{{Text: "three of them"}}})
			server := &asker{answers: make(chan string, 1)}
			elicit := func(context.Context, mcp.Elicitation) (mcp.Answer, error) { return mcp.Answer{Action: c.action}, nil }
			talk := r.talk(harness.Options{Settings: c.settings}, harness.TalkOptions{
				MCP: servers.Given{InProcess: map[string]*mcp.Manifest{"notes": nil}, Send: server.send, Elicit: elicit, Wait: 10 * time.Second},
			})
			defer talk.Close(t.Context())
			r.say(talk, "hello")
			host, err := talk.MCP.Open()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Receive("notes", json.RawMessage(question)); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-server.answers:
				if !strings.Contains(got, c.want) {
					t.Errorf("answered %s, want %s", got, c.want)
				}
			case <-time.After(time.Minute):
				t.Fatal("it was not answered")
			}
			requests := r.server.Requests()
			body := string(requests[len(requests)-1].Body)
			if served := strings.Contains(c.want, "three"); served != (len(requests) == 2) {
				t.Errorf("%d requests", len(requests))
			} else if served && (strings.Contains(body, "hello") || !strings.Contains(body, `"tool_use_id":"t1"`) || !strings.Contains(body, `"input_schema"`) || !strings.Contains(body, "Count.")) {
				t.Errorf("the model was asked %s", body)
			}
		})
	}
}
