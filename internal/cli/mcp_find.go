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

// entry returns a server by its name, even if its entry is ignored because another one
// starts the same server: then only its name, scope and origin are known.
func (m *mcpServers) entry(name string) (mcp.Server, error) {
	s, err := m.find(name)
	if written := m.Project.Settings.All("mcpServers", name); err != nil && len(written) > 0 {
		return mcp.Server{Name: name, Scope: written[0].Source.String(), Origin: written[0].Origin.String()}, nil
	}
	return s, err
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
	if len(m.Project.Settings.All("mcpServers", name)) > 0 {
		return mcp.Server{}, usageError{fmt.Errorf("the MCP server %q is not used: run 'haft mcp list' to see why, or remove its entry with 'haft mcp remove %[1]s'", name)}
	}
	hint := near.Hint(name, names)
	if hint == "" {
		hint = " Run 'haft mcp list' for the list."
	}
	return mcp.Server{}, usageError{fmt.Errorf("there is no MCP server %q.%s", name, hint)}
}
