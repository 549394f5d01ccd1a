package answers

import (
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/lang"
)

// A Part is something that fills the context.
type Part struct {
	ID     string
	Name   lang.Text
	Tokens int64
	Mark   string // in the picture
}

// Tokens estimates how many tokens a text of some bytes has.
func Tokens(bytes int) int { return int(float64(bytes) / 3.5) }

// Context says what fills the context of the next request, and how much of it is free. The
// parts are estimates that add up to what the provider counted, as far as it has.
func Context(c *harness.Conversation) []Part {
	u := c.Agent.ContextUsage()
	var memory, mcp int64
	for _, f := range c.Instructions() {
		memory += int64(Tokens(len(f.Text)))
	}
	var tools []struct {
		Name string `json:"name"`
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(c.Agent.Tools().Request(), &raw); err == nil && json.Unmarshal(c.Agent.Tools().Request(), &tools) == nil {
		for i, t := range tools {
			if strings.HasPrefix(t.Name, "mcp__") {
				mcp += int64(Tokens(len(raw[i])))
			}
		}
	}
	memory = min(memory, u.Messages) // they are told in the first message
	parts := []Part{
		{"system_prompt", "System prompt", u.System, "█"}, {"system_tools", "System tools", u.Tools - min(mcp, u.Tools), "▓"}, {"mcp_tools", "MCP tools", min(mcp, u.Tools), "▒"},
		{"memory_files", "Memory files", memory, "◆"}, {"messages", "Messages", u.Messages - memory, "▪"},
	}
	var sum int64
	for _, p := range parts {
		sum += p.Tokens
	}
	for i := range parts {
		if sum > 0 && u.Total > 0 {
			parts[i].Tokens = parts[i].Tokens * u.Total / sum
		}
	}
	return append(parts, Part{"free_space", "Free space", max(0, u.Window-u.Total), "·"})
}
