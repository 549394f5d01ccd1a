//go:build unix

package haft_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft"
	"github.com/haftdev/haft/wire"
)

// said runs a query with the stub and returns its text.
func said(t *testing.T, prompt string, opts *haft.Options) string {
	t.Helper()
	r, err := haft.Ask(t.Context(), prompt, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r.Result
}

// lines decodes text, one JSON value per line.
func lines(t *testing.T, text string) []any {
	t.Helper()
	var all []any
	for line := range strings.Lines(text) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			v = strings.TrimSpace(line)
		}
		all = append(all, v)
	}
	return all
}

type object = map[string]any

func TestPermissionIsDecidedByAFunction(t *testing.T) {
	leakless(t)
	tests := []struct {
		name   string
		decide haft.PermissionFunc
		want   any
	}{
		{"allowed as it is", func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return haft.Allow(), nil },
			object{"behavior": "allow", "updatedInput": object{"command": "ls"}, "toolUseID": "toolu_1"}},
		{"allowed with another input", func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
			return haft.AllowInput(map[string]string{"command": "pwd"})
		}, object{"behavior": "allow", "updatedInput": object{"command": "pwd"}, "toolUseID": "toolu_1"}},
		{"allowed from now on", func(context.Context, *haft.ToolRequest) (*haft.Permission, error) {
			return haft.Allow(haft.PermissionUpdate{Type: "setMode", Mode: "acceptEdits", Destination: "session"}), nil
		}, object{"behavior": "allow", "updatedInput": object{"command": "ls"}, "toolUseID": "toolu_1",
			"updatedPermissions": []any{object{"type": "setMode", "mode": "acceptEdits", "destination": "session"}}}},
		{"denied", func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return haft.Deny("no"), nil },
			object{"behavior": "deny", "message": "no", "toolUseID": "toolu_1"}},
		{"denied, and that is it", func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return haft.DenyAndStop("no"), nil },
			object{"behavior": "deny", "message": "no", "interrupt": true, "toolUseID": "toolu_1"}},
		{"an error", func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return nil, errors.New("boom") },
			"can_use_tool: boom"},
		{"nothing", func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return nil, nil },
			"can_use_tool: the permission callback returned no decision"},
		{"a panic", func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { panic("boom") },
			"can_use_tool: can_use_tool: panic: boom"},
		{"nobody decides", nil, "can_use_tool: the program has no function that approves calls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := stubbed(t, "asks")
			opts.CanUseTool = tt.decide
			if diff := cmp.Diff([]any{tt.want}, lines(t, said(t, "hi", opts))); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADecisionThatIsNoLongerWantedIsCancelled(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "asks and takes it back")
	ended := make(chan struct{})
	opts.CanUseTool = func(ctx context.Context, _ *haft.ToolRequest) (*haft.Permission, error) {
		<-ctx.Done()
		close(ended)
		return haft.Allow(), nil
	}
	said(t, "hi", opts)
	<-ended
}

func TestHooksAreFunctions(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "runs hooks")
	hook := func(e haft.HookEvent, out *haft.HookOutput, err error) haft.Hook {
		return haft.Hook{Event: e, Matcher: "Bash", Timeout: 1500 * time.Millisecond, Func: func(_ context.Context, in *haft.HookInput) (*haft.HookOutput, error) {
			if in.HookEventName != string(e) || in.ToolName != "Bash" {
				t.Errorf("the hook for %s was told of %s, %s", e, in.HookEventName, in.ToolName)
			}
			return out, err
		}}
	}
	opts.Hooks = []haft.Hook{
		hook(haft.PreToolUse, haft.DenyCall("not here"), nil),
		hook(haft.PreToolUse, nil, nil),
		hook(haft.PostToolUse, haft.AddContext("mind the gap"), nil),
		hook(haft.Stop, nil, errors.New("boom")),
	}
	want := []any{
		object{"hookSpecificOutput": object{"hookEventName": "PostToolUse", "additionalContext": "mind the gap"}},
		object{"hookSpecificOutput": object{"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not here"}},
		object{},
		"hook_callback: boom",
	}
	if diff := cmp.Diff(want, lines(t, said(t, "hi", opts))); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

type sum struct {
	A int `json:"a" jsonschema:"The first number."`
	B int `json:"b" jsonschema:"The second number."`
}

func calculator() *haft.ToolServer {
	return haft.Tools(
		haft.NewTool("add", "Adds two numbers.", func(_ context.Context, in sum) (string, error) {
			return string(rune('0' + in.A + in.B)), nil
		}, &haft.ToolOptions{ReadOnly: true}),
		haft.NewTool("split", "Splits.", func(_ context.Context, in sum) (sum, error) { return in, nil }, nil),
		haft.NewTool("fail", "Fails.", func(context.Context, struct{}) (string, error) { return "", errors.New("it rained") }, nil),
		haft.NewTool("panic", "Panics.", func(context.Context, struct{}) (string, error) { panic("boom") }, nil),
		haft.NewTool("draw", "Draws.", func(context.Context, struct{}) (*haft.ToolResult, error) {
			return &haft.ToolResult{Content: []any{haft.TextContent("a dot"), haft.ImageContent([]byte("png"), "image/png")}}, nil
		}, nil),
	)
}

func TestToolsAreFunctions(t *testing.T) {
	leakless(t)
	call := func(id, name, input string) string {
		return `calc {"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + input + "}}\n"
	}
	opts := stubbed(t, "speaks MCP")
	opts.MCPServers = map[string]haft.MCPServer{"calc": calculator()}
	got := lines(t, said(t, ""+
		`calc {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`+"\n"+
		`calc {"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
		call("1", "add", `{"a":2,"b":3}`)+
		call(`"two"`, "split", `{"a":2,"b":3}`)+
		call("3", "fail", `{}`)+
		call("4", "panic", `{}`)+
		call("5", "draw", `{}`)+
		call("6", "nothing", `{}`)+
		`calc {"jsonrpc":"2.0","id":7,"method":"resources/list"}`+"\n"+
		`nobody {"jsonrpc":"2.0","id":8,"method":"ping"}`+"\n", opts))
	answer := func(id any, result any) any {
		return object{"mcp_response": object{"jsonrpc": "2.0", "id": id, "result": result}}
	}
	refusal := func(id any, code float64, message string) any {
		return object{"mcp_response": object{"jsonrpc": "2.0", "id": id, "error": object{"code": code, "message": message}}}
	}
	text := func(s string) []any { return []any{object{"type": "text", "text": s}} }
	want := []any{
		answer(0.0, object{"protocolVersion": "2025-06-18", "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "calc", "version": "0.1.0"}}),
		answer(0.0, object{}),
		answer(1.0, object{"content": text("5")}),
		answer("two", object{"content": text(`{"a":2,"b":3}`), "structuredContent": object{"a": 2.0, "b": 3.0}}),
		answer(3.0, object{"content": text("it rained"), "isError": true}),
		answer(4.0, object{"content": text("the tool panic panicked: boom"), "isError": true}),
		answer(5.0, object{"content": []any{object{"type": "text", "text": "a dot"}, object{"type": "image", "data": "cG5n", "mimeType": "image/png"}}}),
		refusal(6.0, -32602, "unknown tool: nothing"),
		refusal(7.0, -32601, "method not found: resources/list"),
		"mcp_message: SDK MCP server not found: nobody",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestToolsGetOnlyInputThatFits(t *testing.T) {
	leakless(t)
	opts := stubbed(t, "speaks MCP")
	opts.MCPServers = map[string]haft.MCPServer{"calc": calculator()}
	got := said(t, `calc {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":"two"}}}`, opts)
	for _, want := range []string{`"isError":true`, "a: expected integer", "b: required"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nhas no %s", got, want)
		}
	}
}

func TestToolsCanBeBroughtLater(t *testing.T) {
	leakless(t)
	c, err := haft.NewClient(t.Context(), stubbed(t, "speaks MCP"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	changes, err := c.SetMCPServers(t.Context(), map[string]haft.MCPServer{"calc": calculator(), "web": haft.SSE{URL: "http://x"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`calc {"name":"calc","type":"sdk"}`, `web {"type":"sse","url":"http://x"}`}
	if diff := cmp.Diff(want, []string(changes.Added)); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	last := ""
	for m, err := range c.Turn(`calc {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}`) {
		if err != nil {
			t.Fatal(err)
		}
		last = haft.TextOf(m)
	}
	if !strings.Contains(last, `"text":"3"`) {
		t.Errorf("the tool says %s", last)
	}
}

func TestQueryIntoFillsAStruct(t *testing.T) {
	leakless(t)
	got, _, err := haft.QueryInto[sum](t.Context(), `{"a":1,"b":2}`, stubbed(t, "structured"))
	if err != nil || got != (sum{1, 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := haft.QueryInto[sum](t.Context(), `{"a":"x"}`, stubbed(t, "structured")); err == nil {
		t.Error("an answer of another shape is no error")
	}
	if _, _, err := haft.QueryInto[sum](t.Context(), "hi", stubbed(t, "echo")); err == nil {
		t.Error("no structured answer is no error")
	}
	if _, _, err := haft.QueryInto[int](t.Context(), "hi", stubbed(t, "echo")); err == nil {
		t.Error("an answer that is no struct is no error")
	}
}

func TestOptionsReachTheCommandLine(t *testing.T) {
	leakless(t)
	none := ""
	opts := stubbed(t, "shows what it was given")
	opts.Model, opts.FallbackModel, opts.Effort = "sonnet", "haiku", "high"
	opts.MaxThinkingTokens, opts.MaxTurns, opts.MaxBudgetUSD = 2000, 3, 1.5
	opts.Betas = []string{"a", "b"}
	opts.Tools, opts.AllowedTools, opts.DisallowedTools = []string{}, []string{"Read", "Bash(git *)"}, []string{"WebFetch"}
	opts.Mode = haft.BypassPermissions
	opts.CanUseTool = func(context.Context, *haft.ToolRequest) (*haft.Permission, error) { return haft.Allow(), nil }
	opts.MCPServers = map[string]haft.MCPServer{"files": haft.Stdio{Command: "files", Args: []string{"-v"}}, "web": haft.HTTP{URL: "http://x"}, "calc": haft.Tools()}
	opts.StrictMCP, opts.Resume, opts.ResumeAt, opts.Fork, opts.NoPersistence = true, "s1", "m1", true, true
	opts.PartialMessages, opts.HookEvents, opts.FileCheckpoints = true, true, true
	opts.SettingSources, opts.Settings = []string{"user", "project"}, `{"a":1}`
	opts.AddDirs, opts.Plugins, opts.ExtraArgs = []string{"/a", "/b"}, []string{"/p"}, []string{"--extra", "x"}
	opts.SystemPrompt, opts.AppendSystemPrompt = &none, "be brief"
	opts.OutputSchema = json.RawMessage(`{"type":"object"}`)
	opts.Agents = map[string]haft.Agent{"scout": {Description: "d", Prompt: "p"}}
	opts.Hooks = []haft.Hook{{Event: haft.Stop, Timeout: 1500 * time.Millisecond, Block: true}}
	opts.Customize = func(r *wire.Initialize) { r.Title = "a title" }

	var got struct {
		Args, Env []string
		Hello     wire.Initialize
	}
	if err := json.Unmarshal([]byte(said(t, "hi", opts)), &got); err != nil {
		t.Fatal(err)
	}
	wantArgs := []string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
		"--model=sonnet", "--fallback-model=haiku", "--effort=high", "--max-thinking-tokens=2000", "--betas=a,b", "--max-turns=3", "--max-budget-usd=1.5",
		"--tools=", "--allowedTools=Read,Bash(git *)", "--disallowedTools=WebFetch", "--permission-mode=bypassPermissions", "--allow-dangerously-skip-permissions", "--permission-prompt-tool=stdio",
		"--mcp-config", `{"mcpServers":{"files":{"command":"files","args":["-v"]},"web":{"type":"http","url":"http://x"}}}`, "--strict-mcp-config",
		"--resume=s1", "--resume-session-at=m1", "--fork-session", "--no-session-persistence",
		`--json-schema={"type":"object"}`, "--include-partial-messages", "--include-hook-events", "--setting-sources=user,project",
		"--add-dir=/a", "--add-dir=/b", "--plugin-dir=/p", "--extra", "x", "--settings", `{"a":1}`}
	if diff := cmp.Diff(wantArgs, got.Args); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	wantEnv := []string{"CLAUDE_AGENT_SDK_VERSION=0.1.0", "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true", "CLAUDE_CODE_ENTRYPOINT=sdk-go", "CLAUDE_CODE_SDK_READS_SESSION_STATE=1"}
	if diff := cmp.Diff(wantEnv, got.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	wantHello := wire.Initialize{
		Hooks:         map[string][]wire.HookMatcher{"Stop": {{HookCallbackIDs: []string{"hook_0"}, Timeout: 1.5, OnFailure: "block"}}},
		SDKMCPServers: []string{"calc"},
		SDKMCPServerManifests: map[string]wire.MCPManifest{"calc": {
			InitializeResult: json.RawMessage(`{"capabilities":{"tools":{}},"protocolVersion":"2025-11-25","serverInfo":{"name":"calc","version":"0.1.0"}}`),
			ToolsListResult:  json.RawMessage(`{"tools":[]}`),
		}},
		JSONSchema:         json.RawMessage(`{"type":"object"}`),
		SystemPrompt:       []string{""},
		AppendSystemPrompt: "be brief",
		Title:              "a title",
		Agents:             map[string]haft.Agent{"scout": {Description: "d", Prompt: "p"}},
	}
	if diff := cmp.Diff(wantHello, got.Hello); diff != "" {
		t.Errorf("initialize (-want +got):\n%s", diff)
	}
}

func TestNoOptionsMeanDefaults(t *testing.T) {
	leakless(t)
	var got struct {
		Args  []string
		Hello map[string]any
	}
	if err := json.Unmarshal([]byte(said(t, "hi", stubbed(t, "shows what it was given"))), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json"}, got.Args); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	if len(got.Hello) != 0 {
		t.Errorf("initialize says %v", got.Hello)
	}
}
