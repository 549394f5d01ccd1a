//go:build unix

package haft_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"github.com/haftdev/haft/wire"
)

// example plays the agent of the examples, which knows their prompts.
func (f *fake) example(prompt string) int {
	var raw json.RawMessage
	bash := json.RawMessage(`{"command":"go test ./..."}`)
	switch prompt {
	case "What does this repository do?":
		return f.done("It is a tool system for agents.", nil)
	case "Fix the failing test":
		f.says(wire.Block{Type: "tool_use", ID: "t", Name: "Bash", Input: bash})
		f.Send(&wire.User{SessionID: "s", ToolUseResult: json.RawMessage(`{"stdout":"ok"}`),
			Message: wire.UserMessage{Role: "user", Content: wire.Content{Blocks: []wire.Block{wire.ToolResult("t", wire.Content{Text: "ok"})}}}})
		f.says(wire.Text("The test passes now."))
		f.turns++
		return f.done("The test passes now.", nil)
	case "Work forever":
		if slices.Contains(os.Args, "--max-turns=3") {
			return f.ended(&wire.Result{Stamp: stamp(), Subtype: wire.ResultMaxTurns, IsError: true, Errors: []string{"Reached maximum number of turns (3)"}})
		}
		<-f.interrupted
		return f.ended(&wire.Result{Stamp: stamp(), Subtype: wire.ResultDuringExecution, IsError: true})
	case "Review the last commit":
		return f.done("", json.RawMessage(`{"verdict":"fix","reasons":["A test is missing."]}`))
	case "Clean up":
		var p wire.PermissionAnswer
		f.Call(context.Background(), &wire.CanUseTool{ToolName: "Bash", Input: json.RawMessage(`{"command":"rm -rf attic"}`)}, &p)
		return f.done("Denied: "+p.Message, nil)
	case "Run the tests":
		in, _ := json.Marshal(wire.HookInput{HookEventName: "PreToolUse", ToolName: "Bash", ToolInput: bash})
		f.Call(context.Background(), &wire.HookCallback{CallbackID: "hook_0", Input: in}, &raw)
		return f.done("ok", nil)
	case "Will it rain in Oslo?":
		var reply struct {
			Response struct {
				Result struct{ Content []wire.Block }
			} `json:"mcp_response"`
		}
		f.Call(context.Background(), &wire.MCPMessage{ServerName: "weather",
			Message: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo"}}}`)}, &reply)
		return f.done(wire.Content{Blocks: reply.Response.Result.Content}.String(), nil)
	case "Say hello":
		for _, piece := range []string{"Hello, ", "world."} {
			event, _ := json.Marshal(map[string]any{"type": "content_block_delta", "delta": map[string]any{"type": "text_delta", "text": piece}})
			f.Send(&wire.StreamEvent{Stamp: stamp(), Event: event})
		}
		return f.done("Hello, world.", nil)
	}
	return f.done("You said: "+prompt, nil)
}

func (f *fake) says(b wire.Block) {
	f.Send(&wire.Assistant{Stamp: stamp(), Message: wire.AssistantMessage{ID: "m", Type: "message", Role: "assistant", Content: []wire.Block{b}}})
}

func (f *fake) done(text string, structured json.RawMessage) int {
	return f.ended(&wire.Result{Stamp: stamp(), Subtype: wire.ResultSuccess, Result: text, StructuredOutput: structured, NumTurns: f.turns})
}

func (f *fake) ended(r *wire.Result) int {
	f.Send(r)
	f.state(wire.StateIdle)
	if r.IsError {
		return 1
	}
	return 0
}
