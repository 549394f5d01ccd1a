package cli

import (
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
	"github.com/haftdev/haft/internal/world/shellrun"
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

// serverName checks the name of a server, which becomes part of its tools' names.
var serverName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// scope is where to store entries. In a folder where nothing of a project can be approved,
// which is the home folder, only the user's own settings are used.
func (m *mcpServers) scope(flag string) (settings.Source, error) {
	here := m.Project.Folder != nil
	if flag == "" && here {
		return settings.Local, nil
	}
	if flag == "" {
		return settings.User, nil
	}
	scope, err := settings.ParseSource(flag)
	switch {
	case err != nil || scope != settings.Local && scope != settings.Project && scope != settings.User:
		return scope, usageError{fmt.Errorf("%q is not a scope: use local, project or user", flag)}
	case scope != settings.User && !here:
		return scope, usageError{fmt.Errorf("a server with scope %s would have no effect here: this folder holds your own settings and approvals, so project settings do not apply in it. Use --scope user", flag)}
	}
	return scope, nil
}

// acceptable says what is wrong with an entry that is about to be stored.
func (m *mcpServers) acceptable(e config.Entry, scope settings.Source, overwrite bool) error {
	if !serverName.MatchString(e.Name) {
		return usageError{fmt.Errorf("%q is not a valid server name: use up to 64 letters, digits, dots, _ and -", e.Name)}
	}
	never := func(string) (string, bool) { return "set", true } // variables are filled in when it is used
	e.Scope = scope.String()
	servers, _ := config.Servers([]config.Entry{e}, &config.Options{Lookup: never})
	if servers[0].Problem != "" {
		return usageError{errors.New(servers[0].Problem)}
	}
	if ok, reason := m.Rules.Judge(servers[0]); !ok {
		return errors.New(reason)
	}
	for _, v := range m.Project.Settings.All("mcpServers", e.Name) { // also if another entry takes precedence
		if v.Source == scope && !overwrite {
			return fmt.Errorf("there is already a server %q in %s: use --overwrite to replace it", e.Name, v.Origin)
		}
	}
	return nil
}

// withLogin adds what is known of the login to a remote server.
func (m *mcpServers) withLogin(i serverInfo, s mcp.Server) serverInfo {
	l, err := project.Logins()
	if err != nil || s.URL == "" {
		return i
	}
	c, err := l.Client(s)
	if err != nil {
		return i
	}
	if state, err := c.State(); err == nil && (state.LoggedIn || i.Status == string(mcp.NeedsAuth)) {
		info := loginInfo(s.Name, state)
		i.Login = &info
	}
	return i
}

// untried is the status of a server, as far as it is known without connecting.
func (m *mcpServers) untried(s mcp.Server) mcp.State {
	switch {
	case s.Disabled:
		return mcp.Disabled
	case s.Problem != "" || !m.Approve(s).Allowed && !m.Approve(s).Pending:
		return mcp.Failed
	case m.Approve(s).Pending:
		return notApproved
	}
	return "not tried"
}
