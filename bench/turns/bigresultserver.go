package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// bigEnv makes this program an MCP server whose one tool answers with much text.
const bigEnv = "HAFT_BENCH_TURNS_BIG"

// bigResult is how long its answer is.
const bigResult = 10 << 20

// bigTool is what the tool is called by.
const bigTool = "mcp__big__text"

// bigConfig is the server as --mcp-config takes it.
func bigConfig() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	type in = map[string]any
	raw, err := json.Marshal(in{"mcpServers": in{"big": in{"type": "stdio", "command": self, "args": []string{}, "env": in{bigEnv: "1"}}}})
	return string(raw), err
}

// serveBig serves until standard input ends.
func serveBig() int {
	text := strings.Repeat("A line of an answer that is long.\n", bigResult/34)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
			continue // a notification
		}
		type in = map[string]any
		var result any = in{}
		switch req.Method {
		case "initialize":
			result = in{"protocolVersion": req.Params.Version, "capabilities": in{"tools": in{}}, "serverInfo": in{"name": "big", "version": "1"}}
		case "tools/list":
			result = in{"tools": []any{in{"name": "text", "description": "Much text", "inputSchema": in{"type": "object"}}}}
		case "tools/call":
			result = in{"content": []any{in{"type": "text", "text": text}}}
		}
		if err := json.NewEncoder(out).Encode(in{"jsonrpc": "2.0", "id": req.ID, "result": result}); err != nil {
			return 1
		}
		if err := out.Flush(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}
