package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/haftdev/haft/wire"
)

// A program reads what a CLI writes, one message per line.
func ExampleReader() {
	lines := `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Hello."}]},"session_id":"s","uuid":"u"}
{"type":"result","subtype":"success","is_error":false,"result":"Hello.","num_turns":1,"session_id":"s","uuid":"v"}
{"type":"from_the_future","answer":42}
`
	for r := wire.NewReader(strings.NewReader(lines)); ; {
		m, err := r.Read()
		if err != nil {
			break
		}
		switch m := m.(type) {
		case *wire.Assistant:
			fmt.Println("assistant:", m.Message.Content[0].Text)
		case *wire.Result:
			fmt.Println("result:", m.Subtype, m.Result)
		case *wire.Unknown:
			fmt.Println("unknown:", string(m.Line))
		}
	}
	// Output:
	// assistant: Hello.
	// result: success Hello.
	// unknown: {"type":"from_the_future","answer":42}
}

func ExampleEncode() {
	line, err := wire.Encode(wire.Prompt("What is in this folder?"))
	fmt.Println(string(line), err)
	// Output:
	// {"type":"user","message":{"role":"user","content":[{"type":"text","text":"What is in this folder?"}]},"parent_tool_use_id":null,"session_id":""} <nil>
}

// A CLI asks the program that started it, over their two streams.
func ExampleConn() {
	ctx := context.Background()
	in, toCLI := io.Pipe()
	fromCLI, out := io.Pipe()
	program := wire.NewConn(wire.Lines(wire.NewReader(fromCLI), wire.NewWriter(toCLI)), &wire.ConnOptions{
		Handle: func(context.Context, wire.Request) (any, error) {
			return &wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: "not today"}, nil
		},
	})
	go program.Run(ctx, func(wire.Message) {})
	input := json.RawMessage(`{"command":"git push"}`)

	answer := func(_ context.Context, r wire.Request) (any, error) { return nil, wire.Unsupported(r) }
	conn := wire.NewConn(wire.Lines(wire.NewReader(in), wire.NewWriter(out)), &wire.ConnOptions{Handle: answer})
	go conn.Run(ctx, func(m wire.Message) { /* everything that is not a control request */ })

	var reply wire.PermissionAnswer
	err := conn.Call(ctx, &wire.CanUseTool{ToolName: "Bash", Input: input}, &reply)
	fmt.Println(reply.Behavior, reply.Message, err)
	// Output:
	// deny not today <nil>
}
