package project

import (
	"path/filepath"

	"github.com/haftdev/haft/internal/world/workspace"
)

// WireLogs is the folder of what is said to MCP servers, if that is written down.
func WireLogs() string { return filepath.Join(workspace.StateDir(), "mcp-log") }
