package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/tool"
)

// foreign returns the tools of MCP servers if any of names is one of theirs, and a function
// that ends the servers. It starts all servers that are set up and approved, and waits for
// them as long as haft mcp list does.
func (f *toolsFlags) foreign(ctx context.Context, w *harness.World, names ...string) ([]tool.Tool, func() error, error) {
	if !f.mcp && !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "mcp__") }) {
		return nil, func() error { return nil }, nil
	}
	m, err := w.Project.Servers()
	if err != nil {
		return nil, nil, err
	}
	h, end, err := m.Host(version())
	if err != nil {
		return nil, nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, mcpPatience)
	defer cancel()
	h.Start(m.List)
	_ = h.Wait(bounded) // servers that are not ready by then are reported
	for _, s := range h.Status() {
		if i := describeServer(s); s.State != mcp.Connected && s.State != mcp.Disabled {
			fmt.Fprintf(f.Err, "warning: the MCP server %s is not available (%s): %s\n", visible.Indented(i.Name), i.Status, visible.Indented(i.Reason))
		}
	}
	return h.Tools(), end, nil
}
