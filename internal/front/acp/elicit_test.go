package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveQuestions is an MCP server with a tool that asks the user.
func serveQuestions() {
	server := sdk.NewServer(&sdk.Implementation{Name: "asker", Version: "1"}, nil)
	schema := map[string]any{"type": "object"}
	server.AddTool(&sdk.Tool{Name: "ask", Description: "Asks the user.", InputSchema: schema}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if answer, ok := r.Params.InputResponses["colour"].(*sdk.ElicitResult); ok {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %v", answer.Action, answer.Content["colour"])}}}, nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"colour": &sdk.ElicitParams{Message: "Which colour?", RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"colour": map[string]any{"type": "string", "enum": []string{"red", "blue"}}}, "required": []string{"colour"},
		}}}}, nil
	})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// TestQuestionsOfServers are forms of the editor. An editor without forms is not asked, and
// the server is told so.
func TestQuestionsOfServers(t *testing.T) {
	for capabilities, want := range map[string]string{`{"elicitation":{"form":{}}}`: "accept blue", `{}`: "elicit"} {
		p := newPlayer(t, `{"turns":[{"blocks":[{"tool":"mcp__asker__ask","id":"toolu_1","input":{}}]},{"blocks":[{"text":"Asked."}]}]}`)
		p.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
		command, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p.call("session/new", fmt.Sprintf(`{"cwd":"$DIR","mcpServers":[{"name":"asker","command":%q,"args":[],"env":[{"name":"ACP_TEST_SERVER","value":"1"}]}]}`, command))
		id := p.request("session/prompt", prompt)
		p.readTo("session/request_permission")
		p.choose("allow")
		if want == "accept blue" {
			m := p.readTo("elicitation/create")
			if raw, _ := json.Marshal(m); !strings.Contains(string(raw), "Which colour?") {
				t.Errorf("the form is %s", raw)
			}
			p.answer(`{"action":"accept","content":{"colour":"blue"}}`)
		}
		p.readTo("answer " + id)
		p.close()
		raw, _ := json.Marshal(p.updates("tool_call_update"))
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s: no %q in %s", capabilities, want, raw)
		}
	}
}
