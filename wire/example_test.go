package wire_test

import (
	"fmt"
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
