package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/mcp/config"
	"github.com/haftdev/haft/mcp/oauth"
	"github.com/haftdev/haft/permission/trust"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/shellrun"
)

// mcpServers are the servers that are set up for a folder.
type mcpServers struct {
	*project
	list     []mcp.Server
	warnings []string
	pending  map[string]bool // names that wait for the person's approval
	policy   *config.Policy
}

// openServers reads what is set up in the working directory.
func openServers() (*mcpServers, error) {
	p, err := openProject()
	if err != nil {
		return nil, err
	}
	m := &mcpServers{project: p, pending: make(map[string]bool)}
	if m.policy, err = p.mcpPolicy(); err != nil {
		return nil, err
	}
	m.list, m.warnings = config.Servers(m.entries(), nil)
	off := p.disabledServers()
	for i := range m.list {
		if m.list[i].Scope == settings.Project.String() && slices.Contains(off, m.list[i].Name) {
			m.list[i].Disabled = true
		}
	}
	return m, nil
}

// entries are those that count, and those of the project that would if they were
// approved.
func (m *mcpServers) entries() []config.Entry {
	managedOnly := m.all.ManagedFlag("allowManagedMcpServersOnly")
	var entries []config.Entry
	known := make(map[string]bool)
	add := func(n settings.Named, pending bool) {
		if known[n.Name] || managedOnly && n.Source != settings.Managed {
			return
		}
		known[n.Name] = true
		if pending {
			m.pending[n.Name] = true
		}
		entries = append(entries, config.Entry{Name: n.Name, Raw: n.JSON, Scope: n.Source.String(), Origin: n.Origin.String()})
	}
	for _, n := range m.counts.MCPServers() {
		add(n, false)
	}
	for _, n := range m.all.MCPServers() {
		add(n, true)
	}
	return entries
}

// mcpPolicy is what the administrator says about servers.
func (p *project) mcpPolicy() (*config.Policy, error) {
	policy := new(config.Policy)
	for key, into := range map[string]*[]config.Match{"allowedMcpServers": &policy.Allowed, "deniedMcpServers": &policy.Denied} {
		for _, v := range p.all.All(key) {
			if v.Source != settings.Managed && key == "allowedMcpServers" {
				continue // others may tighten, not loosen
			}
			list, err := config.ReadMatches(v.JSON)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Origin, err)
			}
			*into = append(*into, list...)
			if *into == nil {
				*into = []config.Match{} // an empty list is not no list
			}
		}
	}
	return policy, nil
}

// disabledServers are the project's servers that were switched off.
func (p *project) disabledServers() []string {
	var names []string
	for _, v := range p.all.All("disabledMcpjsonServers") {
		var list []string
		if json.Unmarshal(v.JSON, &list) == nil {
			names = append(names, list...)
		}
	}
	return names
}

// find returns a server by its name.
func (m *mcpServers) find(name string) (mcp.Server, error) {
	var names []string
	for _, s := range m.list {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	hint := near.Hint(name, names)
	if hint == "" {
		hint = " Run 'haft mcp list' for what there is."
	}
	return mcp.Server{}, usageError{fmt.Errorf("there is no MCP server %q.%s", name, hint)}
}

// approve says whether a server may be started.
func (m *mcpServers) approve(s mcp.Server) mcp.Verdict {
	return m.policy.Approve(func(s mcp.Server) mcp.Verdict {
		if m.pending[s.Name] {
			return mcp.Verdict{Pending: true, Reason: "the project's server is not approved yet. Look at it and approve it with: haft trust"}
		}
		return mcp.Verdict{Allowed: true}
	})(s)
}

// approval returns the trust item of a server of the project; nil if there is none.
func (p *project) approval(name string) *trust.Item {
	if p.folder == nil {
		return nil
	}
	for _, item := range p.folder.Items(p.all) {
		if item.Kind == trust.Server && item.Name == name {
			return &item
		}
	}
	return nil
}

// logins are the person's accounts at remote servers.
func logins() (*oauth.Logins, error) {
	dir, err := oauth.DefaultDir()
	if err != nil {
		return nil, err
	}
	return &oauth.Logins{Store: oauth.NewStore(dir)}, nil
}

// host returns a host of these servers, and what ends it with all it started.
func (m *mcpServers) host(reexec shellrun.Reexec) (*mcp.Host, func() error, error) {
	auth, err := logins()
	if err != nil {
		return nil, nil, err
	}
	var runner shellrun.Runner
	processes := shellrun.NewHost(&shellrun.Options{Reexec: reexec, Wrap: func(r shellrun.Runner) shellrun.Runner {
		runner = r
		return r
	}})
	opts := &mcp.Options{Version: version(), Runner: runner, Dir: m.dir, Auth: auth, Approve: m.approve, Roots: m.guard.Roots()}
	if cache, err := os.UserCacheDir(); err == nil {
		opts.CacheDir = filepath.Join(cache, "haft", "mcp")
	}
	h := mcp.NewHost(opts)
	return h, func() error { return errors.Join(h.Close(), processes.Close()) }, nil
}
