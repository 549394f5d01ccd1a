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

// Sandbox returns what the settings say about confinement.
func (s *Settings) Sandbox() Sandbox {
	b := Sandbox{
		Mode: SandboxPrefer, Servers: ProjectServers, Hooks: s.Flag("sandbox", "hooks"), Enabled: s.Flag("sandbox", "enabled"),
		AutoAllow: s.flagOr(true, "sandbox", "autoAllowBashIfSandboxed"), Unsandboxed: s.flagOr(true, "sandbox", "allowUnsandboxedCommands"),
		Excluded:   s.texts("sandbox", "excludedCommands"),
		AllowWrite: s.texts("sandbox", "filesystem", "allowWrite"), DenyWrite: s.texts("sandbox", "filesystem", "denyWrite"),
		AllowRead: s.texts("sandbox", "filesystem", "allowRead"), DenyRead: s.texts("sandbox", "filesystem", "denyRead"),
		Domains: s.texts("sandbox", "network", "allowedDomains"), DeniedDomains: s.texts("sandbox", "network", "deniedDomains"),
	}
	if s.ManagedFlag("sandbox", "network", "allowManagedDomainsOnly") {
		var managed []Text
		for _, d := range b.Domains {
			if d.Source == Managed {
				managed = append(managed, d)
			}
		}
		b.Domains = managed
	}
	if servers, ok := s.Text("sandbox", "mcpServers"); ok {
		switch v := SandboxServers(servers.Text); v {
		case NoServers, AllServers:
			b.Servers = v
		}
	}
	if mode, ok := s.Text("sandbox", "mode"); ok {
		switch m := SandboxMode(mode.Text); m {
		case SandboxOff, SandboxPrefer, SandboxRequire:
			b.Mode = m
		}
	}
	if _, required := s.SandboxRequired(); required {
		b.Mode = SandboxRequire
	}
	return b
}

// SandboxRequired reports whether commands must not run unless they can be confined
// (sandbox.enabled with sandbox.failIfUnavailable, or the mode require), and which file
// says so.
func (s *Settings) SandboxRequired() (Origin, bool) {
	if s.Flag("sandbox", "enabled") && s.Flag("sandbox", "failIfUnavailable") {
		v, _ := s.Lookup("sandbox", "failIfUnavailable")
		return v.Origin, true
	}
	mode, _ := s.Text("sandbox", "mode")
	return mode.Origin, mode.Text == string(SandboxRequire)
}

// flagOr is [Settings.Flag] with another default.
func (s *Settings) flagOr(otherwise bool, path ...string) bool {
	for _, f := range s.files {
		if n := f.root.get(path...); n != nil && (n.kind == 't' || n.kind == 'f') {
			return n.kind == 't'
		}
	}
	return otherwise
}
