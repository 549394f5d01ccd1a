package config_test

import (
	"fmt"

	"github.com/haftdev/haft/internal/world/mcp/config"
)

func ExampleServers() {
	entries, err := config.File([]byte(`{"mcpServers": {
		"files": {"command": "mcp-files", "args": ["${ROOT}"]},
		"wiki":  {"type": "http", "url": "https://wiki.example/mcp"},
		"odd":   {"type": "pigeon"}
	}}`), "project", ".mcp.json")
	if err != nil {
		panic(err)
	}
	servers, _ := config.Servers(entries, &config.Options{Lookup: func(name string) (string, bool) { return "/srv", name == "ROOT" }})
	for _, s := range servers {
		switch {
		case s.Problem != "":
			fmt.Printf("%s: %s\n", s.Name, s.Problem)
		case s.URL != "":
			fmt.Printf("%s: %s\n", s.Name, s.URL)
		default:
			fmt.Printf("%s: %s %s\n", s.Name, s.Command, s.Args)
		}
	}
	// Output:
	// files: mcp-files [/srv]
	// wiki: https://wiki.example/mcp
	// odd: unknown type "pigeon": use stdio, http or sse
}
