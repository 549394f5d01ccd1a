package settings

// A Sandbox is what the settings say about confining commands, with the names and meanings
// of Claude Code. Mode is haft's own.
type Sandbox struct {
	Mode SandboxMode
	// Enabled confines allowed commands to the project.
	Enabled bool
	// AutoAllow lets a command that is confined to the project run without asking.
	AutoAllow bool
	// Unsandboxed lets a model ask for a command to run without the sandbox.
	Unsandboxed bool
	// Servers says which stdio MCP servers are confined to the project, and Hooks whether
	// hooks are.
	Servers SandboxServers
	Hooks   bool
	// Excluded are commands that run without the sandbox, as in rules about Bash.
	Excluded []Text
	// Files that can be written in addition to the project, or that cannot be written or
	// read although the rest of their folder can.
	AllowWrite, DenyWrite, AllowRead, DenyRead []Text
	// Hosts that commands can reach, and those that they cannot reach even then.
	Domains, DeniedDomains []Text
}

// SandboxServers says which MCP servers are confined.
type SandboxServers string

const (
	// NoServers confines none of them.
	NoServers SandboxServers = "off"
	// ProjectServers confines those that a project defines.
	ProjectServers SandboxServers = "project"
	// AllServers confines the user's as well.
	AllServers SandboxServers = "all"
)

// A SandboxMode says what happens to commands on a machine that cannot confine them.
type SandboxMode string

const (
	// SandboxOff confines nothing.
	SandboxOff SandboxMode = "off"
	// SandboxPrefer confines commands where that is possible.
	SandboxPrefer SandboxMode = "prefer"
	// SandboxRequire refuses to start sessions where it is not possible.
	SandboxRequire SandboxMode = "require"
)

// sandboxKeys are what a sandbox object may hold. Keys without effect are for another
// platform, or for the programs with which Claude Code confines.
func sandboxKeys() map[string]shape {
	return map[string]shape{
		"enabled": aFlag, "failIfUnavailable": aFlag, "autoAllowBashIfSandboxed": aFlag, "allowUnsandboxedCommands": aFlag,
		"mode":             {kinds: `"`, oneOf: []string{string(SandboxOff), string(SandboxPrefer), string(SandboxRequire)}},
		"mcpServers":       {kinds: `"`, oneOf: []string{string(NoServers), string(ProjectServers), string(AllServers)}},
		"hooks":            aFlag,
		"excludedCommands": textList,
		"filesystem":       {kinds: "{", members: map[string]shape{"allowWrite": textList, "denyWrite": textList, "denyRead": textList, "allowRead": textList, "allowManagedReadPathsOnly": idle(aFlag)}},
		"network": {kinds: "{", members: map[string]shape{
			"allowedDomains": textList, "deniedDomains": textList, "allowManagedDomainsOnly": aFlag,
			"allowLocalBinding": idle(aFlag), "allowUnixSockets": idle(textList), "allowAllUnixSockets": idle(aFlag), "httpProxyPort": idle(aNumber), "socksProxyPort": idle(aNumber),
		}},
		"ignoreViolations": idle(anything), "enableWeakerNestedSandbox": idle(aFlag), "enableWeakerNetworkIsolation": idle(aFlag), "ripgrep": idle(anObject), "enabledPlatforms": idle(textList),
		"credentials": noGuard(anObject),
	}
}
