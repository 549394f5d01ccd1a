package tui

import (
	"strings"

	"github.com/haftdev/haft/agent"
)

// taskName is what a person calls something in the background.
func taskName(t agent.Task) string {
	if t.Type == "local_agent" && t.AgentType != "" {
		return t.AgentType + ", " + t.Description
	}
	if t.Description == "" {
		return t.ID
	}
	return strings.TrimRight(t.Description, "; &\n") // a command's own end
}
