package harness

import (
	"context"
	"errors"

	"github.com/haftdev/haft/internal/world/mcp"
)

// noServers are the MCP servers where there is no conversation.
type noServers struct{}

var errNoServers = errors.New("MCP servers need an active conversation")

// Resources lists nothing.
func (noServers) Resources(context.Context, string) ([]mcp.Resource, error) { return nil, errNoServers }

// RefreshTools refreshes nothing.
func (noServers) RefreshTools(context.Context, string) ([]mcp.Status, error) {
	return nil, errNoServers
}

// Reruns runs nothing.
func (noServers) Reruns(string) string { return "" }

// ReadResource reads nothing.
func (noServers) ReadResource(context.Context, string, string) ([]mcp.Contents, error) {
	return nil, errNoServers
}
