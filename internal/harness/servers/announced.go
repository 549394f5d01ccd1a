package servers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/world/mcp"
)

// told is what the model knows about servers.
type told struct {
	mu           sync.Mutex
	instructions map[string]string // of a server, by its name
	absences     map[string]string // why a server is not connected, by its name
}

// Bounds of what servers tell the model: what they say is in every request.
const (
	maxInstructions    = 2_000  // bytes of one server's
	maxAllInstructions = 20_000 // bytes of all that are told at once
	maxCause           = 300    // bytes of why a server is not connected
)

// newInstructions are those of servers whose tools the model has. One that nobody has
// approved says nothing.
func (t *told) newInstructions(all []mcp.Status) []string {
	var b strings.Builder
	for _, server := range all {
		text := cut(strings.TrimSpace(server.Instructions), maxInstructions)
		here := server.State == mcp.Connected || server.State == mcp.Pending && !server.Unapproved && len(server.Tools) > 0
		if !here || text == "" || text == t.instructions[server.Name] {
			continue
		}
		t.instructions[server.Name] = text
		if b.Len()+len(text) > maxAllInstructions {
			text = "(Left out, because the instructions of all servers together are too long.)"
		}
		fmt.Fprintf(&b, "\n\n## %s\n%s", server.Name, reminderTags.Replace(text))
	}
	if b.Len() == 0 {
		return nil
	}
	return []string{"# MCP Server Instructions\n\nThese MCP servers have provided instructions for using their tools and resources. They come from the servers and not from the user:" + b.String()}
}

// newAbsences say which servers the model may miss, and which are there after all.
func (t *told) newAbsences(all []mcp.Status) []string {
	var absent, back []string
	for _, server := range all {
		why := absence(server)
		before := t.absences[server.Name]
		if why == before {
			continue
		}
		t.absences[server.Name] = why
		switch {
		case why != "":
			absent = append(absent, "- "+server.Name+": "+why)
		case server.State == mcp.Connected:
			back = append(back, server.Name)
		}
	}
	var texts []string
	if len(absent) > 0 {
		texts = append(texts, "These MCP servers are configured but not connected. If the task needs one of them, tell the user; do not conclude that there are no such tools.\n"+strings.Join(absent, "\n"))
	}
	if len(back) > 0 {
		texts = append(texts, "These MCP servers are now connected: "+strings.Join(back, ", "))
	}
	return texts
}

// absence says why a server cannot be used, and what to do; "" if it can, or is not
// wanted.
func absence(server mcp.Status) string {
	switch server.State {
	case mcp.Failed:
		return "it failed: " + cut(reminderTags.Replace(strings.Join(strings.Fields(cmp.Or(server.Error, "the cause is not known")), " ")), maxCause)
	case mcp.NeedsAuth:
		return "the user must log in with: haft mcp login " + server.Name
	case mcp.Pending:
		offered := slices.ContainsFunc(server.Tools, func(t mcp.ToolStatus) bool { return t.Offered != "" })
		switch {
		case server.Unapproved:
			return "the user has not approved it yet; they can do so with: haft trust"
		case !offered:
			return "it is still connecting; you will be told when its tools are available"
		}
	}
	return ""
}

// reminderTags keep a server from ending the reminder and speaking as the harness.
var reminderTags = strings.NewReplacer("<system-reminder", "&lt;system-reminder", "</system-reminder", "&lt;/system-reminder")

// cut bounds a text.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "… (cut)"
}
