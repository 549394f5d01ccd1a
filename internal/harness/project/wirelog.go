package project

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/wirelog"
	"github.com/haftdev/haft/internal/world/workspace"
)

// WireLogs is the folder of what is said to MCP servers, if that is written down.
func WireLogs() string { return filepath.Join(workspace.StateDir(), "mcp-log") }

// WireLog returns the log of what is said to MCP servers; nil unless the settings ask
// for it. Find tells what is configured for a server, of which nothing secret may be
// written.
func (p *Project) WireLog(find func(server string) (mcp.Server, bool)) *wirelog.Log {
	if !p.Counts.Flag("mcp", "log") {
		return nil
	}
	return wirelog.New(WireLogs(), &wirelog.Options{Secrets: func(name string) []string {
		s, _ := find(name)
		return slices.Concat(slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
	}})
}
