package headless

import (
	"encoding/json"
	"fmt"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/wire"
)

// guestMay refuses requests of a guest that would run something on this machine or change the
// user's settings. What it does not know is refused.
func guestMay(r wire.Request) error {
	switch r := r.(type) {
	case *wire.Initialize:
		return guestInitialize(r)
	case *wire.MCPSetServers:
		return guestServers(r)
	case *wire.EndSession, *wire.GetBinaryVersion, *wire.ListModels, *wire.Interrupt, *wire.SetPermissionMode, *wire.SetModel,
		*wire.SetMaxThinkingTokens, *wire.CancelAsyncMessage, *wire.SetHasSubscribers, *wire.ReadFile, *wire.FileSuggestions,
		*wire.RewindFiles, *wire.SeedReadState, *wire.RegisterRepoRoot, *wire.GetSettings, *wire.ListPermissionRules, *wire.GetHooksListing,
		*wire.MCPStatus, *wire.MCPReconnect, *wire.MCPToggle, *wire.SetMCPPermissionModeOverride, *wire.MCPReadResource, *wire.MCPCall,
		*wire.MCPMessage, *wire.ReloadSkills, *wire.ReloadPlugins, *wire.ReloadOutputStyles, *wire.ApplyFlagSettings,
		*wire.BackgroundTasks, *wire.GetTaskOutput, *wire.StopTask, *wire.RenameSession, *wire.GenerateSessionTitle,
		*wire.GetContextUsage, *wire.GetUsage, *wire.GetSessionCost:
		return nil
	}
	return terminalOnly("The request " + r.Subtype())
}

func terminalOnly(what string) error {
	return &wire.ControlError{Message: what + " can only be done in a terminal, not on a server"}
}

// guestInitialize refuses what a program brings that would run here. Its hooks and tools run in
// the program.
func guestInitialize(r *wire.Initialize) error {
	if len(r.Plugins) > 0 {
		return terminalOnly("Adding plugins")
	}
	for name, a := range r.Agents {
		switch {
		case a.PermissionMode == string(permission.Bypass):
			return terminalOnly(fmt.Sprintf("Turning permissions off for the agent %q", name))
		case len(a.Hooks) > 0 && string(a.Hooks) != "null":
			return terminalOnly(fmt.Sprintf("Adding the hooks of the agent %q", name))
		}
	}
	return nil
}

// guestServers refuses MCP servers that are not inside the program.
func guestServers(r *wire.MCPSetServers) error {
	for name, raw := range r.Servers {
		var server struct{ Type string }
		if json.Unmarshal(raw, &server) != nil || server.Type != "sdk" {
			return terminalOnly(fmt.Sprintf("Adding the MCP server %q, which is not inside the program,", name))
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
		return fmt.Sprintf("The change %q of permissions", u.Type)
	case u.Destination != "session" && u.Destination != "localSettings":
		return "Changing " + u.Destination
	}
	return ""
}
