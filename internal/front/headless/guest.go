package headless

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/wire"
)

// A guest is a program that is a client of a server, and may not ask everything.
type guest struct {
	opts   *Options
	opened func() *harness.Conversation
}

// may refuses requests of a guest that would run something on this machine, bypass what its
// owner denies or change the user's settings. What it does not know is refused.
func (g *guest) may(r wire.Request) error {
	switch r := r.(type) {
	case *wire.Initialize:
		return g.initialize(r)
	case *wire.MCPSetServers:
		return guestServers(r)
	case *wire.MCPCall:
		server, _, _ := splitTool(r.Tool)
		return g.calls(server)
	case *wire.MCPReadResource:
		return g.calls(r.ServerName)
	case *wire.MCPReconnect:
		return g.starts(r.ServerName)
	case *wire.MCPToggle:
		if !r.Enabled {
			return nil
		}
		return g.starts(r.ServerName)
	case *wire.ApplyFlagSettings:
		return guestSettings(r)
	case *wire.EndSession, *wire.GetBinaryVersion, *wire.ListModels, *wire.Interrupt, *wire.SetPermissionMode, *wire.SetModel, *wire.SetEffort, *wire.DescribeInput,
		*wire.SetMaxThinkingTokens, *wire.CancelAsyncMessage, *wire.SetHasSubscribers, *wire.ReadFile, *wire.FileSuggestions,
		*wire.RewindFiles, *wire.SeedReadState, *wire.RegisterRepoRoot, *wire.GetSettings, *wire.ListPermissionRules, *wire.ExplainCall, *wire.GetHooksListing,
		*wire.MCPStatus, *wire.SetMCPPermissionModeOverride, *wire.MCPMessage, *wire.ReloadSkills, *wire.ReloadPlugins, *wire.ReloadOutputStyles,
		*wire.BackgroundTasks, *wire.GetTaskOutput, *wire.StopTask, *wire.RenameSession, *wire.GenerateSessionTitle,
		*wire.GetContextUsage, *wire.GetUsage, *wire.GetSessionCost:
		return nil
	}
	return terminalOnly("The request " + r.Subtype())
}

func terminalOnly(what string) error {
	return &wire.ControlError{Message: what + " is only possible in a terminal, not on a server"}
}

// guestInitialize refuses what a program brings that would run here or take the place of what
// the owner relies on. Its hooks and tools run in the program.
func (g *guest) initialize(r *wire.Initialize) error {
	if len(r.Plugins) > 0 {
		return terminalOnly("Adding plugins")
	}
	if len(r.ManagedSettings) > 0 {
		return terminalOnly("Sending managed settings")
	}
	for name, a := range r.Agents {
		mode, err := permission.ParseMode(a.PermissionMode)
		switch {
		case slices.Contains(g.opts.OwnersAgents, name):
			return terminalOnly(fmt.Sprintf("Replacing the agent %q", name))
		case err != nil || mode == permission.Bypass:
			return terminalOnly(fmt.Sprintf("Turning permissions off for the agent %q", name))
		case len(a.Hooks) > 0 && string(a.Hooks) != "null":
			return terminalOnly(fmt.Sprintf("Adding the hooks of the agent %q", name))
		}
	}
	return nil
}

// guestLead refuses an agent of a guest that would be the main one because the settings name it.
func guestLead(o *Options, w *harness.World, init *wire.Initialize) error {
	if init == nil || !o.Guest || o.Harness.Agent != "" {
		return nil
	}
	set, ok := w.Project.Counts.Text("agent")
	if _, replaced := init.Agents[set.Text]; ok && replaced {
		return terminalOnly(fmt.Sprintf("Replacing the agent %q, which the settings choose,", set.Text))
	}
	return nil
}

// guestCalls refuses calls of servers that are not inside the program: outside a turn they are
// made without the rules and hooks that hold for calls of a model.
func (g *guest) calls(name string) error {
	if server, owned := g.ownersServer(name); owned && server.Type != mcp.SDK {
		return terminalOnly(fmt.Sprintf("Calling the MCP server %q, which does not run inside the program, outside a turn", name))
	}
	return nil
}

// guestStarts refuses to start a server that its owner has switched off.
func (g *guest) starts(name string) error {
	if server, owned := g.ownersServer(name); owned && server.Disabled {
		return terminalOnly(fmt.Sprintf("Starting the MCP server %q, which is disabled in its configuration,", name))
	}
	return nil
}

// ownersServer is the server of a name that settings or flags have. It counts even while one of
// the program takes its place: that can end between this answer and its use.
func (g *guest) ownersServer(name string) (mcp.Server, bool) {
	talk := g.opened()
	if talk == nil {
		return mcp.Server{}, false
	}
	return talk.MCP.Fixed(name)
}

// guestSettings refuses folders that depend on where the server runs, as --add-dir does.
func guestSettings(r *wire.ApplyFlagSettings) error {
	var set flagSettings
	if json.Unmarshal(r.Settings, &set) != nil || set.Permissions == nil {
		return nil // what is wrong is reported when it is applied
	}
	for _, dir := range set.Permissions.Directories {
		if !filepath.IsAbs(dir) {
			return &wire.ControlError{Message: fmt.Sprintf("cannot add the folder %q: give its full path", dir)}
		}
	}
	return nil
}

// refuseGuest says why a guest must not type one of haft's own commands.
func refuseGuest(name, arguments string) error {
	if guestMayType(name, arguments) {
		return nil
	}
	return terminalOnly(strings.TrimSpace("/" + name + " " + arguments))
}

// guestMayType reports whether a guest may type one of haft's own commands. Others start servers
// or show commands of the settings.
func guestMayType(name, arguments string) bool {
	switch name {
	case "agents", "clear", "compact", "config", "context", "cost", "help", "memory", "model", "output-style", "permissions", "resume", "rewind", "skills", "status", "tools", "usage":
		return true
	case "mcp":
		return arguments == ""
	case "add-dir":
		return arguments == "" || filepath.IsAbs(arguments)
	}
	return false
}

// guestSees are the settings that a guest is shown, by the names of a file: those that describe
// the conversation. Others may hold passwords, commands and addresses.
var guestSees = map[string]bool{
	"model": true, "effortLevel": true, "outputStyle": true, "agent": true, "permissions": true, "preview": true, "language": true, "uiLanguage": true,
	"theme": true, "editorMode": true, "todoTools": true, "alwaysThinkingEnabled": true, "disableAllHooks": true, "cleanupPeriodDays": true,
}

// guestServers refuses MCP servers that are not inside the program.
func guestServers(r *wire.MCPSetServers) error {
	for name, raw := range r.Servers {
		var server struct{ Type string }
		if json.Unmarshal(raw, &server) != nil || server.Type != "sdk" {
			return terminalOnly(fmt.Sprintf("Adding the MCP server %q, which does not run inside the program,", name))
		}
	}
	return nil
}

// TerminalOnly says which part of a change of the permissions belongs to the terminal, "" if
// none does: what holds for other projects, and what turns questions off.
func TerminalOnly(u wire.PermissionUpdate) string {
	switch {
	case u.Type == "setMode" && u.Mode == string(permission.Bypass):
		return "Turning permissions off"
	case u.Type == "setMode":
		return ""
	case u.Type != "addRules":
		return fmt.Sprintf("The permission change %q", u.Type)
	case u.Destination != "session" && u.Destination != "localSettings":
		return "Changing " + u.Destination
	}
	return ""
}
