package settings

import (
	"slices"

	"github.com/haftdev/haft/tool"
)

// Settings are the combined content of all files.
type Settings struct {
	files []*File // by precedence
}

// Of returns the settings of the files, in order of their sources; files of one source stay
// in the order given.
func Of(files ...*File) *Settings {
	s := &Settings{files: slices.Clone(files)}
	slices.SortStableFunc(s.files, func(a, b *File) int { return int(a.Source) - int(b.Source) })
	return s
}

// With returns the settings with one more file, such as what a user chose in the session.
// It takes precedence over the other files of its source.
func (s *Settings) With(f *File) *Settings { return Of(append([]*File{f}, s.files...)...) }

// add appends a file that may not be there.
func (s *Settings) add(f *File) {
	if f != nil {
		s.files = append(s.files, f)
	}
}

// Files returns the files that were found, including skipped ones, by precedence. The
// caller must not modify the slice.
func (s *Settings) Files() []*File { return s.files }

// Problems returns what the owners of the files should know.
func (s *Settings) Problems() []Problem {
	var all []Problem
	closed := s.hooksFailClosed()
	for _, f := range s.files {
		all = append(all, f.problems...)
		_, hookProblems := f.hooks(closed)
		all = append(all, hookProblems...)
	}
	return all
}

// Lookup returns the value at a path of keys, such as "model", from the first
// file that has one.
func (s *Settings) Lookup(path ...string) (Value, bool) {
	if all := s.All(path...); len(all) > 0 {
		return all[0], true
	}
	return Value{}, false
}

// All returns the value at a path of keys from each file that has one.
func (s *Settings) All(path ...string) []Value {
	var all []Value
	for _, f := range s.files {
		if v, ok := f.Value(path...); ok {
			all = append(all, v)
		}
	}
	return all
}

// A Text is a string with its origin.
type Text struct {
	Origin
	Text string
}

func (t Text) String() string { return t.Text + " (" + t.Origin.String() + ")" }

// Text returns the string at a path of keys from the first file that has one.
func (s *Settings) Text(path ...string) (Text, bool) {
	for _, f := range s.files {
		n := f.root.get(path...)
		if t, ok := n.text(); ok {
			return Text{f.origin(n.line), t}, true
		}
	}
	return Text{}, false
}

// Flag returns true or false at a path of keys from the first file that has either; false
// if none has.
func (s *Settings) Flag(path ...string) bool { return flagIn(s.files, path...) }

// ManagedFlag is [Settings.Flag] for keys that only an administrator may set.
func (s *Settings) ManagedFlag(path ...string) bool {
	for i, f := range s.files {
		if f.Source != Managed {
			return flagIn(s.files[:i], path...)
		}
	}
	return flagIn(s.files, path...)
}

func flagIn(files []*File, path ...string) bool {
	for _, f := range files {
		if n := f.root.get(path...); n != nil && (n.kind == 't' || n.kind == 'f') {
			return n.kind == 't'
		}
	}
	return false
}

// texts returns the strings of a list in all files.
func (s *Settings) texts(path ...string) []Text {
	var all []Text
	for _, f := range s.files {
		if list := f.root.get(path...); list != nil {
			for _, e := range list.elements {
				if t, ok := e.text(); ok {
					all = append(all, Text{f.origin(e.line), t})
				}
			}
		}
	}
	return all
}

// Mode returns permissions.defaultMode.
func (s *Settings) Mode() (Text, bool) { return s.Text("permissions", "defaultMode") }

// Disabled reports whether any settings rule out a permission mode, and where: one file is
// enough. It knows auto and bypassPermissions.
func (s *Settings) Disabled(mode string) (by Origin, off bool) {
	key := map[string]string{"auto": "disableAutoMode", "bypassPermissions": "disableBypassPermissionsMode"}[mode]
	for _, f := range s.files {
		n := f.root.get("permissions", key)
		if t, _ := n.text(); t == "disable" {
			return f.origin(n.line), true
		}
	}
	return Origin{}, false
}

// Directories returns permissions.additionalDirectories of all files, as written.
func (s *Settings) Directories() []Text { return s.texts("permissions", "additionalDirectories") }

// PassEnv returns bash.passEnv of all files: the names, or prefixes that end in a star, of
// variables that shell commands inherit in addition to the usual ones.
func (s *Settings) PassEnv() []Text { return s.texts("bash", "passEnv") }

// PrivateHosts returns webFetch.allowPrivate of all files: hosts and networks outside the
// public internet from which pages may be fetched.
func (s *Settings) PrivateHosts() []Text { return s.texts("webFetch", "allowPrivate") }

// InstructionExcludes returns claudeMdExcludes of all files: patterns of paths with
// instructions that are not loaded.
func (s *Settings) InstructionExcludes() []Text { return s.texts("claudeMdExcludes") }

// A Rule is a permission rule as written, such as Bash(git diff:*).
type Rule = Text

// Rules returns the rules of all files that allow, ask or deny. If only managed rules may
// allow, other allow rules are left out; what others deny stays denied.
func (s *Settings) Rules(b tool.Behavior) []Rule {
	rules := s.texts("permissions", b.String())
	if b == tool.Allow && s.ManagedFlag("allowManagedPermissionRulesOnly") {
		rules = slices.DeleteFunc(rules, func(r Rule) bool { return r.Source != Managed })
	}
	return rules
}

// A Named is JSON under a name that its owner chose, such as an MCP server.
type Named struct {
	Value
	Name string
}

// named returns the members of an object, each from the first file that has it.
func (s *Settings) named(key string) []Named {
	var all []Named
	seen := map[string]bool{}
	for _, f := range s.files {
		object := f.root.get(key)
		if object == nil {
			continue
		}
		for _, m := range object.members {
			if !seen[m.name] {
				seen[m.name] = true
				all = append(all, Named{f.value(m.value), m.name})
			}
		}
	}
	return all
}

// MCPServers returns the servers that are set up, as written.
func (s *Settings) MCPServers() []Named { return s.named("mcpServers") }

// LanguageServers returns the language servers that are set up, as written.
func (s *Settings) LanguageServers() []Named { return s.named("lspServers") }

// A Variable is an environment variable.
type Variable struct {
	Text
	Name string
}

// Env returns the variables to set for everything that the session starts.
func (s *Settings) Env() []Variable {
	var all []Variable
	seen := map[string]bool{}
	for _, f := range s.files {
		env := f.root.get("env")
		if env == nil {
			continue
		}
		for _, m := range env.members {
			if t, ok := m.value.text(); ok && !seen[m.name] {
				seen[m.name] = true
				all = append(all, Variable{Text{f.origin(m.line), t}, m.name})
			}
		}
	}
	return all
}

// HookURLs returns the addresses that hooks may post to, from allowedHttpHookUrls. A star
// matches any part of the host, or of what follows it.
func (s *Settings) HookURLs() Listed { return s.listed("allowedHttpHookUrls", matchURL) }

// HookVariables returns the variables that hooks may post, from httpHookAllowedEnvVars.
func (s *Settings) HookVariables() Listed {
	return s.listed("httpHookAllowedEnvVars", func(pattern, name string) bool { return pattern == name })
}

func (s *Settings) listed(key string, match func(pattern, name string) bool) Listed {
	l := Listed{match: match}
	for _, f := range s.files {
		list := f.root.get(key)
		if list == nil {
			continue
		}
		into := &l.others
		if f.Source == Managed {
			into = &l.managed
		}
		if *into == nil {
			*into = []string{} // one of nothing allows nothing
		}
		for _, e := range list.elements {
			if text, ok := e.text(); ok {
				*into = append(*into, text)
			}
		}
	}
	return l
}

// Hooks returns the hooks of all files in order, except those that disableAllHooks and
// allowManagedHooksOnly turn off.
func (s *Settings) Hooks() []Hook {
	if s.ManagedFlag("disableAllHooks") {
		return nil
	}
	onlyManaged := s.ManagedFlag("allowManagedHooksOnly") || s.Flag("disableAllHooks")
	closed := s.hooksFailClosed()
	var all []Hook
	for _, f := range s.files {
		if onlyManaged && f.Source != Managed {
			break
		}
		hooks, _ := f.hooks(closed)
		all = append(all, hooks...)
	}
	return all
}

func (s *Settings) hooksFailClosed() bool {
	return slices.ContainsFunc(s.files, func(f *File) bool { return flagIn([]*File{f}, "hooks", failClosed) })
}

// Prune returns settings with only what choose keeps. Everything else, including problems,
// stays as it is. choose is called for the members of each file first.
func (s *Settings) Prune(choose func(Place) Choice) *Settings {
	pruned := &Settings{files: make([]*File, len(s.files))}
	for i, f := range s.files {
		n := *f
		n.root = f.prune(f.root, nil, choose)
		pruned.files[i] = &n
	}
	return pruned
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
