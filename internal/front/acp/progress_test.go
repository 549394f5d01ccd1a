package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/acp"
	"github.com/haftdev/haft/internal/test/waiting"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
)

// An editor is told that calls wait, run and have ended, and what they report meanwhile, whatever
// kind of call it is.
func TestRunningCallsAreSeen(t *testing.T) {
	scenario, err := json.Marshal(script.Scenario{Parts: waiting.Parts("$DIR")})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlayer(t, string(scenario))
	p.connect(func(o *acp.Options) {
		o.Harness.Allowed, o.Harness.Embedded = waiting.Allowed, []tool.Tool{waiting.Tool()}
	})
	p.call("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.call("session/new", fmt.Sprintf(`{"cwd":"$DIR","mcpServers":[{"name":%q,"command":%q,"args":[],"env":[{"name":%q,"value":"1"}]}]}`, waiting.Server, command, waiting.Variable))
	id := p.request("session/prompt", fmt.Sprintf(`{"sessionId":"$SESSION","prompt":[{"type":"text","text":%q}]}`, waiting.Prompt))
	for _, kind := range waiting.Kinds {
		for said := ""; !strings.Contains(said, kind.Report) || !strings.Contains(said, `"in_progress"`); {
			raw, err := json.Marshal(p.readTo("tool_call_update"))
			if err != nil {
				t.Fatal(err)
			}
			if said = string(raw); !strings.Contains(said, kind.CallID()) {
				said = ""
			}
		}
		if err := kind.End(p.dir); err != nil {
			t.Fatal(err)
		}
	}
	p.readTo("answer " + id)
	p.close()
	ended := map[any]any{}
	for _, u := range p.updates("tool_call_update") {
		if u["status"] != nil {
			ended[u["toolCallId"]] = u["status"]
		}
	}
	for _, kind := range waiting.Kinds {
		if ended[kind.CallID()] != "completed" {
			t.Errorf("%s is %v in the end", kind.Tool, ended[kind.CallID()])
		}
	}
}
