package cli

import (
	"fmt"

	"github.com/haftdev/haft/internal/world/mcp"
)

// A finding is one thing that a user should know.
type finding struct {
	Server string `json:"server,omitempty"`
	Level  string `json:"level"` // ok, warning or error
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// examine says what is the matter with a server.
func examine(i serverInfo) []finding {
	var out []finding
	switch mcp.State(i.Status) {
	case mcp.Connected:
		out = append(out, finding{i.Name, "ok", fmt.Sprintf("connected, %s", count(i.offered(), "tool", "tools")), ""})
	case mcp.Disabled:
		out = append(out, finding{i.Name, "ok", "disabled", "enable it with: haft mcp enable " + i.Name})
	case mcp.NeedsAuth:
		out = append(out, finding{i.Name, "error", "it needs a login", "run: haft mcp login " + i.Name})
	case mcp.Pending:
		out = append(out, finding{i.Name, "error", i.Reason, "for details, run: haft mcp get " + i.Name})
	default:
		out = append(out, finding{i.Name, "error", i.Reason, "for details, run: haft mcp get " + i.Name})
	}
	if i.Noise > 0 {
		out = append(out, finding{i.Name, "warning", fmt.Sprintf("it wrote %s to standard output; the last one: %s", count(i.Noise, "line that is not a message", "lines that are not messages"), i.LastNoise),
			"tell its author: such output belongs on standard error"})
	}
	for _, t := range i.Tools {
		if t.Offered == "" {
			out = append(out, finding{i.Name, "warning", "its tool " + t.Name + " is not offered: " + t.Disabled, ""})
		}
		if t.Changed {
			out = append(out, finding{i.Name, "warning", "its tool " + t.Name + " has a different description than when the server was last connected", "review it before you continue to use it"})
		}
		if t.Hidden != "" {
			out = append(out, finding{i.Name, "warning", "the texts of its tool " + t.Name + " had invisible characters: " + t.Hidden, "review the server before you trust it"})
		}
	}
	return out
}
