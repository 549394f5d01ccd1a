package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/internal/world/mcp"
)

// A host offers the tools of a server, here one inside the program.
func ExampleHost() {
	answers := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"clock","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"now","description":"Tells the time.","inputSchema":{"type":"object"}}]}`,
	}
	host := mcp.NewHost(&mcp.Options{Send: func(_ context.Context, _ string, message json.RawMessage) (json.RawMessage, error) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(message, &m); err != nil || m.ID == nil {
			return nil, err
		}
		if answers[m.Method] == "" {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID), nil
		}
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answers[m.Method]), nil
	}})
	defer host.Close()
	host.Start([]mcp.Server{{Name: "clock", Type: mcp.SDK}})
	if err := host.Wait(context.Background()); err != nil {
		panic(err)
	}
	for _, t := range host.Tools() {
		fmt.Println(t.Name)
	}
	// Output:
	// mcp__clock__now
}
