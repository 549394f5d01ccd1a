package harness

import (
	"context"
	"errors"
	"maps"

	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

// TakeTools gives the agent the tools that MCP servers offer now, from the next request on.
func (c *Conversation) TakeTools() {
	c.taking.Lock()
	defer c.taking.Unlock()
	a := c.World.link.Agent()
	if a == nil {
		return
	}
	if err := a.SetTools(c.everyTool()); err != nil {
		c.World.link.Warn("mcp", "Could not load tools from MCP servers: "+err.Error())
	}
}

// everyTool is every tool there is with what servers offer now.
func (c *Conversation) everyTool() *tool.Set {
	session := *c.Agent.Tools().Session()
	foreign, ok := c.MCP.Tools()
	if !ok {
		return c.pool.Set(&session)
	}
	session.Flags = maps.Clone(session.Flags)
	session.Flags[mcpresource.Flag] = true // also if a program has just set the first server
	return c.pool.Set(&session, foreign...)
}

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
