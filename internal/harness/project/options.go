package project

import (
	"context"
	"slices"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// Options say which folder, and what the user adds to its settings. Nil means
// all zero values.
type Options struct {
	// Dir is where the session works; "" means the working directory of this
	// process.
	Dir string
	// Settings is a JSON object, or the path of a file, that adds to the settings.
	Settings string
	// Sources are the settings to read among user, project and local; nil means all.
	Sources []settings.Source
	// AddDirs are folders besides the project that tools may work in.
	AddDirs []string
	// Mode is the permission mode; "" means that of the settings.
	Mode string
	// MayBypass lets the session change to the mode that asks nobody. A session that
	// begins in it may, too.
	MayBypass bool
	// AsRoot lets a session that runs as root ask nobody. IS_SANDBOX=1 in the
	// environment does, too.
	AsRoot bool
	// Allowed and Disallowed are permission rules.
	Allowed, Disallowed []string
	// Typed says that a user has typed the mode and the rules: a mode that settings
	// switch off and a denial that names no tool are then errors, and otherwise warnings.
	Typed bool
	// Tools are the only ones in the pool; nil means all.
	Tools []string
	// Embedded are tools of the program that embeds haft; see [Project.OwnTools].
	Embedded []tool.Tool
	// Redirect says which tool is meant when a model calls one of these names; nil
	// redirects none.
	Redirect map[string]string
	// Skills are the only ones that a model may use; nil means all.
	Skills []string
	// Managed is a JSON object of settings that whoever drives the session imposes on
	// it. It can only make the session more careful, and is left out where an
	// administrator has set anything; "" imposes nothing.
	Managed string
	// Bare keeps Bash, Read and Edit.
	Bare bool
	// Plugins are folders of plugins besides those that are found.
	Plugins []string
	// NoServersOf are those of Plugins whose MCP servers are left out.
	NoServersOf []string
	// Vouched says that whoever drives the session has asked for the project's
	// skills, commands, agents and hooks: they count as they are now without having
	// been trusted. What its settings loosen still does not.
	Vouched bool
	// TrustProject trusts everything that the project brings, as it is now, for this
	// session.
	TrustProject bool
	// IgnoreProjectHooks leaves the project's hooks out. Without it, a session in which
	// hooks that guard something do not count is not started, unless AsksTrust is set.
	IgnoreProjectHooks bool
	// IgnoreBadRules begins although a rule that denies or asks cannot be understood.
	// Without it, such a rule is an error.
	IgnoreBadRules bool
	// Trust keeps what users have agreed to; nil means the usual place. Sessions
	// that follow one another share one, so that what was agreed to for now holds.
	Trust *trust.Store
	// Agents are definitions that go before those of files.
	Agents []agentdef.Definition
	// Agent is the one that leads the conversation, among Agents and those of files;
	// "" means that of the settings, or haft itself.
	Agent string
	// Hooks run besides those of the settings.
	Hooks []hook.Hook
	// Notice is told what a user should know while there is no conversation; nil
	// keeps it for the one that begins. It must be safe for concurrent use.
	Notice func(agent.Notice)
	// AsksTrust says that whoever leads the session shows the user what of the
	// project is not trusted: it is not warned of.
	AsksTrust bool
	// HookRan is called with every run of a hook; nil tells nobody. It must be safe for
	// concurrent use and not block for long.
	HookRan func(hook.Run)
	// Analyzed is that of [permission.Options].
	Analyzed func(command string)
	// Unsaved returns the text of a file in the user's editor; see [workspace.Options].
	// Nil means that there is no editor.
	Unsaved func(ctx context.Context, path string) (text string, ok bool)
	// Preview says what becomes of commands that the rules leave open; "" means what
	// the settings say.
	Preview PreviewMode
	// DryRun says that calls are judged and not made: as in a session, which is not begun.
	DryRun bool
	// EndAtLimit ends commands at their timeouts, also if the settings let them continue in
	// the background: for a session that nobody waits for.
	EndAtLimit bool
	// Prompted says that the first prompt of a new conversation waits to be sent: what the model is told about the
	// repository, which takes a process, is looked up while the rest is opened.
	Prompted bool
	// Safe leaves out all instructions, skills, commands, agents, output styles and plugins.
	Safe bool
	// ToolHost is where the tools run; nil means on this machine.
	ToolHost *toolhost.Host
	// Reexec starts the supervisor of shell commands; see [shellrun.Supervise].
	Reexec shellrun.Reexec
}

func (o *Options) wants(s settings.Source) bool {
	return !o.Safe && (o.Sources == nil || slices.Contains(o.Sources, s))
}
