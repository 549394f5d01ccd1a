package project

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/internal/world/mcp/oauth"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// Servers are the MCP servers that are set up for a project.
type Servers struct {
	Project  *Project
	List     []mcp.Server
	Warnings []string
	Rules    *config.Policy  // what the administrator says about servers
	pending  map[string]bool // names that wait for the user's approval
}

// entries are those that count, and those of the project that would if they were
// approved.
func (m *Servers) entries() []config.Entry {
	managedOnly := m.Project.Settings.ManagedFlag("allowManagedMcpServersOnly")
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
	for _, n := range m.Project.Counts.MCPServers() {
		add(n, false)
	}
	for _, n := range m.Project.Settings.MCPServers() {
		add(n, true)
	}
	return entries
}

// Approve says whether a server may be started.
func (m *Servers) Approve(s mcp.Server) mcp.Verdict {
	return m.Rules.Approve(func(s mcp.Server) mcp.Verdict {
		switch {
		case m.pending[s.Name] && m.Project.Folder == nil && !m.Project.Own:
			return mcp.Verdict{Pending: true, Reason: "there is nowhere to save an approval: set HOME or XDG_CONFIG_HOME"}
		case m.pending[s.Name] && m.Project.Folder == nil:
			return mcp.Verdict{Pending: true, Reason: "this folder holds your own settings and approvals, so project servers are not used in it. Add the server for yourself: haft mcp add --scope user"}
		case m.pending[s.Name]:
			return mcp.Verdict{Pending: true, Reason: "the project's server is not approved yet. Review and approve it with: haft trust"}
		}
		return mcp.Verdict{Allowed: true}
	})(s)
}

// Registry is where the user looks for servers, by "mcp.registry" of the user's own settings;
// "" if it is not set. A project cannot say where what is run comes from.
func (m *Servers) Registry() string {
	set, _ := trust.Without(m.Project.Settings).Text("mcp", "registry")
	return set.Text
}

// Waiting reports whether a server waits for the user's approval.
func (m *Servers) Waiting(name string) bool { return m.pending[name] }

// Logins are the user's accounts at remote servers.
func Logins() (*oauth.Logins, error) {
	dir, err := oauth.DefaultDir()
	if err != nil {
		return nil, err
	}
	return &oauth.Logins{Store: oauth.NewStore(dir)}, nil
}

// Host returns a host of these servers, and what ends it with all it started.
func (m *Servers) Host(version string) (*mcp.Host, func() error, error) {
	auth, err := Logins()
	if err != nil {
		return nil, nil, err
	}
	processes := shellrun.NewHost(&shellrun.Options{Reexec: m.Project.Options.Reexec})
	opts := &mcp.Options{Version: version, Runner: processes.Runner(), Box: m.Project.Boxes.Server(processes), Dir: m.Project.Dir, Auth: auth, Approve: m.Approve, Roots: m.Project.Guard.Roots()}
	if cache, err := os.UserCacheDir(); err == nil {
		opts.CacheDir = filepath.Join(cache, "haft", "mcp")
	}
	BoundServers(opts) // what is wrong with the bounds is among the warnings
	log := m.Project.WireLog(m.find)
	if log != nil {
		opts.OnMessage = log.Message
	}
	h := mcp.NewHost(opts)
	return h, func() error { return errors.Join(h.Close(), processes.Close(), log.Close()) }, nil
}

func (m *Servers) find(name string) (mcp.Server, bool) {
	i := slices.IndexFunc(m.List, func(s mcp.Server) bool { return s.Name == name })
	if i < 0 {
		return mcp.Server{}, false
	}
	return m.List[i], true
}

// File returns the file that keeps the servers of a scope. A project's are in
// .mcp.json, where other tools find them too.
func (m *Servers) File(scope settings.Source) (settings.Target, error) {
	if scope == settings.Project {
		return settings.Target{Path: filepath.Join(m.Project.Dir, ".mcp.json"), Root: m.Project.Dir}, nil
	}
	return m.Project.Target(scope)
}

// Files are the files of a scope that may hold servers and exist.
func (m *Servers) Files(scope settings.Source) []settings.Target {
	var targets []settings.Target
	for _, file := range m.Project.Settings.Files() {
		if file.Source != scope || file.Path == "" {
			continue
		}
		t := settings.Target{Path: file.Path}
		if scope.InProject() {
			t.Root = m.Project.Dir
		}
		targets = append(targets, t)
	}
	return targets
}
