package harness_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/servers"
	"github.com/haftdev/haft/model/script"
)

// A server that joins while a turn runs can be called in that turn, and the tools that the
// provider has cached stay as they are.
func TestALateServerIsCalledInTheTurnThatRuns(t *testing.T) {
	for _, references := range []bool{true, false} {
		t.Run(fmt.Sprint("references ", references), func(t *testing.T) {
			r := newRig(t)
			if references {
				t.Setenv("ENABLE_TOOL_SEARCH", "true")
			}
			n := &notebook{words: "Adds a note."}
			var c *harness.Conversation
			use := call("mcp__notes__add", `{}`)
			if !references {
				use = call("CallTool", `{"tool":"mcp__notes__add","input":{}}`)
			}
			r.serve(func(q *script.Request) script.Turn {
				switch q.Turn {
				case 0:
					if _, err := c.MCP.Set(map[string]json.RawMessage{"notes": json.RawMessage(`{"type":"sdk"}`)}); err != nil {
						t.Error(err)
					}
					for end := time.Now().Add(10 * time.Second); c.Agent.Tools().Lookup("mcp__notes__add") == nil; time.Sleep(time.Millisecond) {
						if time.Now().After(end) {
							t.Error("the server did not come")
							break
						}
					}
					return script.Turn{Blocks: []script.Block{call("ToolSearch", `{"query":"select:Sleep"}`)}}
				case 1:
					if !strings.Contains(string(q.Body), "mcp__notes__add") {
						t.Error("the model does not know that the tool exists")
					}
					return script.Turn{Blocks: []script.Block{call("ToolSearch", `{"query":"+notes add"}`)}}
				case 2:
					return script.Turn{Blocks: []script.Block{use}}
				}
				return script.Turn{Blocks: []script.Block{{Text: "noted"}}}
			})
			c = r.talk(harness.Options{Allowed: []string{"mcp__notes"}}, harness.TalkOptions{MCP: servers.Given{Send: n.send}})
			defer c.Close(t.Context())
			if _, last := r.say(c, "take a note"); last.Text != "noted" {
				t.Fatalf("%+v", last)
			}
			if !n.heard("tools/call") {
				t.Error("the server was not called")
			}
			requests := r.server.Requests()
			first := loadedTools(t, requests[0].Body)
			for i, q := range requests[1:] {
				if got := loadedTools(t, q.Body); got != first {
					t.Errorf("the tools of request %d are not those of the first:\n%s\n%s", i+1, got, first)
				}
			}
		})
	}
}

// loadedTools are the tools of a request that a provider caches.
func loadedTools(t *testing.T, body []byte) string {
	t.Helper()
	var r struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	var loaded strings.Builder
	for _, raw := range r.Tools {
		if !strings.Contains(string(raw), `"defer_loading":true`) {
			loaded.Write(raw)
		}
	}
	return loaded.String()
}
