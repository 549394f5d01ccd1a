package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/haftdev/haft/internal/world/mcp/serve"
	"github.com/haftdev/haft/tool"
)

// A greeter answers calls. haft's own takes them through rules and hooks.
type greeter struct{}

func (greeter) Call(_ context.Context, c serve.Call) (tool.Result, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return tool.Result{}, err
	}
	return tool.Text("Hello, " + in.Name + "."), nil
}

func ExampleServer_Stdio() {
	s, err := serve.New([]serve.Tool{{
		Name: "greet", Description: "Greets.", Input: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
	}}, greeter{}, &serve.Options{Version: "1.0"})
	if err != nil {
		panic(err)
	}
	client := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}
`)
	var out strings.Builder
	if err := s.Stdio(context.Background(), client, &out); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	for line := range strings.Lines(out.String()) {
		fmt.Println(strings.Contains(line, "Hello, Ada."))
	}
	// Output:
	// false
	// true
}
