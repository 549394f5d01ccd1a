package project

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/haftdev/haft/internal/world/mcp"
)

// charsPerToken turns a limit in tokens into one in characters.
const charsPerToken = 4

// BoundServers sets the bounds of MCP servers whose entries set none, by the variables
// that Claude Code knows for it: MCP_TIMEOUT and MCP_TOOL_TIMEOUT, in milliseconds, and
// MAX_MCP_OUTPUT_TOKENS. It returns what is wrong with them; such a variable is ignored.
func BoundServers(o *mcp.Options) (warnings []string) {
	for _, v := range []struct {
		name string
		set  func(int)
	}{
		{"MCP_TIMEOUT", func(n int) { o.StartTimeout = time.Duration(n) * time.Millisecond }},
		{"MCP_TOOL_TIMEOUT", func(n int) { o.CallTimeout = time.Duration(n) * time.Millisecond }},
		{"MAX_MCP_OUTPUT_TOKENS", func(n int) { o.MaxResult = n * charsPerToken }},
	} {
		text := os.Getenv(v.name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 || n > maxBound {
			warnings = append(warnings, fmt.Sprintf("%s=%s is ignored: it is not a whole number from 1 to %d", v.name, text, maxBound))
			continue
		}
		v.set(n)
	}
	return warnings
}

// maxBound is the greatest value of a bound: no product of it overflows.
const maxBound = 1_000_000_000
