package serve_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/world/mcp/serve"
	"github.com/haftdev/haft/tool"
)

// careful is a pipeline whose rules want every call asked about.
func careful(_ context.Context, c serve.Call) (tool.Result, error) {
	v := c.Ask(tool.Case{
		Tool: &tool.Tool{Name: c.Tool},
		Call: &tool.Call{Tool: c.Tool, Input: c.Input},
	}, tool.Verdict{Behavior: tool.Ask, Message: "It is a lot of work."})
	if v.Behavior != tool.Allow {
		return tool.Failure("denied: " + v.Reason), nil
	}
	return tool.Text("worked: " + v.Reason), nil
}

func TestPersonIsAskedThroughTheClient(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer *sdk.ElicitResult
		want   string
	}{
		{"allowed", &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, "worked: the MCP client's user allowed it"},
		{"denied", &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, "denied: the MCP client's user did not allow it"},
		{"declined", &sdk.ElicitResult{Action: "decline"}, "denied: the MCP client's user did not allow it"},
		{"cancelled", &sdk.ElicitResult{Action: "cancel"}, "denied: the MCP client's user did not allow it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			opts := &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked = append(asked, r.Params.Message)
				return tt.answer, nil
			}}
			everyWay(t, careful, opts, func(t *testing.T, c *sdk.ClientSession) {
				asked = nil
				if got := text(work(t, t.Context(), c, 3)); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if len(asked) != 1 || asked[0] != "Allow Work?\n\nn: 3\n\nIt is a lot of work." {
					t.Errorf("asked %q", asked)
				}
			})
		})
	}
}

func TestClientThatCannotAskIsToldWhy(t *testing.T) {
	onlyURLs := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}}}
	for _, opts := range []*sdk.ClientOptions{nil, onlyURLs} {
		everyWay(t, careful, opts, func(t *testing.T, c *sdk.ClientSession) {
			r := work(t, t.Context(), c, 3)
			if !r.IsError || !strings.Contains(text(r), "it does not support elicitation") {
				t.Errorf("got %q", text(r))
			}
		})
	}
}

// TestApprovalIsForOneCallOnly brings an approval back with another input, another
// state and to another server: each time the user is asked again.
func TestApprovalIsForOneCallOnly(t *testing.T) {
	opts := &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	}
	c := overStdio(t, newServer(t, careful), opts, "2026-07-28")
	first := work(t, t.Context(), c, 1)
	if !first.NeedsInput() {
		t.Fatalf("not asked: %q", text(first))
	}
	yes := sdk.InputResponseMap{"permission": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}}
	bring := func(c *sdk.ClientSession, input, state string) *sdk.CallToolResult {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "Work", Arguments: json.RawMessage(input), InputResponses: yes, RequestState: state})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	state := first.RequestState
	if r := bring(c, `{"n":1}`, state); r.NeedsInput() || text(r) != "worked: the MCP client's user allowed it" {
		t.Errorf("the approved call: %q", text(r))
	}
	for name, r := range map[string]*sdk.CallToolResult{
		"another input":   bring(c, `{"n":2}`, state),
		"no state":        bring(c, `{"n":1}`, ""),
		"a changed state": bring(c, `{"n":1}`, state+"x"),
		"a later end":     bring(c, `{"n":1}`, "zzzzzz"+state[strings.IndexByte(state, '.'):]),
		"another server":  bring(overStdio(t, newServer(t, careful), opts, "2026-07-28"), `{"n":1}`, state),
	} {
		if !r.NeedsInput() {
			t.Errorf("%s: %q", name, text(r))
		}
	}
}
