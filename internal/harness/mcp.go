package harness

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/mcpresource"
)

// takeTools gives the agent the tools that MCP servers offer now, from the next turn on.
func (c *Conversation) takeTools() {
	c.taking.Lock()
	defer c.taking.Unlock()
	a := c.World.link.Agent()
	if a == nil {
		return
	}
	if err := a.SetTools(c.withServers(a.Tools())); err != nil {
		c.World.link.Warn("mcp", "Could not load tools from MCP servers: "+err.Error())
	}
}

// withServers is the set of tools with what servers offer now. What was described to the
// model stays as it is and where it is: new tools come after it. Only if one is
// gone is the set made again.
func (c *Conversation) withServers(now *tool.Set) *tool.Set {
	foreign, ok := c.MCP.Tools()
	if !ok {
		return now
	}
	if session := *now.Session(); !session.Flags[mcpresource.Flag] { // a program has just set the first server
		session.Flags = maps.Clone(session.Flags)
		session.Flags[mcpresource.Flag] = true
		return c.pool.Set(&session, foreign...)
	}
	offered := make(map[string]bool, len(foreign))
	for _, t := range foreign {
		offered[t.Name] = true
	}
	for _, t := range now.All() {
		if strings.HasPrefix(t.Source, "mcp:") && !offered[t.Name] {
			return c.pool.Set(now.Session(), foreign...)
		}
	}
	var late []tool.Tool
	for _, t := range foreign {
		if now.Lookup(t.Name) == nil {
			late = append(late, t)
		}
	}
	if len(late) == 0 {
		return now
	}
	return now.Append(late...)
}

// noServers are the MCP servers where there is no conversation.
type noServers struct{}

var errNoServers = errors.New("MCP servers belong to conversations, and there is none")

// Resources lists nothing.
func (noServers) Resources(context.Context, string) ([]mcp.Resource, error) { return nil, errNoServers }

// ReadResource reads nothing.
func (noServers) ReadResource(context.Context, string, string) ([]mcp.Contents, error) {
	return nil, errNoServers
}
