package project

// restricting are the settings that can only make a session more careful, by their
// paths.
var restricting = [][]string{
	{"permissions", "deny"}, {"permissions", "ask"}, {"permissions", "disableBypassPermissionsMode"}, {"permissions", "disableAutoMode"},
	{"disableAllHooks"}, {"allowManagedHooksOnly"}, {"allowManagedPermissionRulesOnly"}, {"allowManagedMcpServersOnly"},
	{"deniedMcpServers"}, {"allowedMcpServers"}, {"availableModels"},
}
