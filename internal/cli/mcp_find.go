package cli

import (
	"fmt"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/shellrun"
)

// mcpServers are the servers that are set up for a folder.
type mcpServers struct{ *project.Servers }

// openServers reads what is set up in the working directory.
func openServers(reexec shellrun.Reexec) (*mcpServers, error) {
	p, err := project.Open(&harness.Options{Reexec: reexec})
	if err != nil {
		return nil, err
	}
	s, err := p.Servers()
	return &mcpServers{s}, err
}

// find returns a server by its name.
func (m *mcpServers) find(name string) (mcp.Server, error) {
	var names []string
	for _, s := range m.List {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	hint := near.Hint(name, names)
	if hint == "" {
		hint = " Run 'haft mcp list' for the list."
	}
	return mcp.Server{}, usageError{fmt.Errorf("there is no MCP server %q.%s", name, hint)}
}
