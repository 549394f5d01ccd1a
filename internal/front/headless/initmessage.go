package headless

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// initMessage is what every turn begins with.
func initMessage(talk *harness.Conversation, o *Options, ev agent.TurnStarted) *wire.Init {
	init := &wire.Init{
		Cwd: talk.Dir(), Model: ev.Model, PermissionMode: ev.Mode, APIKeySource: talk.KeySource, ClaudeCodeVersion: o.Version,
		OutputStyle: talk.Style, Betas: o.Talk.Betas, Capabilities: capabilities(),
		AdditionalDirectories: talk.World.Engine.Guard().Roots()[1:], FastModeState: "off",
	}
	init.MCPServers, init.Sandbox = initServers(talk), initSandbox(talk)
	for _, t := range ev.Tools.All() {
		init.Tools = append(init.Tools, announced(t))
	}
	for _, c := range commands(talk) {
		init.SlashCommands = append(init.SlashCommands, c.Name)
	}
	for _, a := range agents(talk) {
		init.Agents = append(init.Agents, a.Name)
	}
	for _, k := range talk.World.Project.Library.Skills.List().Skills {
		init.Skills = append(init.Skills, k.Name)
	}
	init.Plugins = plugins(talk)
	return init
}

func initServers(talk *harness.Conversation) (list []wire.InitMCP) {
	for _, st := range talk.MCP.Status() {
		list = append(list, wire.InitMCP{Name: st.Name, Status: string(st.State), Source: source(st)})
	}
	return list
}

func initSandbox(talk *harness.Conversation) *wire.InitSandbox {
	s := talk.World.Sandbox()
	init := &wire.InitSandbox{Mode: string(s.Mode), Enabled: s.Enabled, Tier: "unknown"}
	if s.Known {
		init.Tier = s.Tier.Kind.String()
	}
	if len(s.Tier.Failures) > 0 {
		init.Problem = s.Tier.Failures[0].Error()
	}
	return init
}

func plugins(talk *harness.Conversation) (list wire.List[wire.Plugin]) {
	for _, p := range talk.World.Project.Library.Plugins {
		from := p.Source.String()
		if p.Source == settings.Flag {
			from = "inline"
		}
		list = append(list, wire.Plugin{Name: p.Name, Path: p.Dir, Version: p.Version, Source: p.Name + "@" + from})
	}
	return list
}

// capabilities are the parts of the protocol beyond its first version.
func capabilities() []string {
	return []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1", "sdk_mcp_tools_list_changed", "sdk_mcp_manifests", "mcp_read_resource_v1"}
}

// announced is a tool's name in the list of tools, where one tool keeps its older name.
func announced(t *tool.Tool) string {
	if t.Name == "Agent" {
		return "Task"
	}
	return t.Name
}

// commands are what can be typed after a slash.
func commands(talk *harness.Conversation) wire.List[wire.Command] {
	var list wire.List[wire.Command]
	for _, c := range talk.Input().Commands.List().Commands {
		list = append(list, wire.Command{Name: c.Name, Description: c.Description, ArgumentHint: c.Hint, Builtin: c.Origin == command.Builtin})
	}
	return list
}

// agents are those that work can be delegated to.
func agents(talk *harness.Conversation) wire.List[wire.AgentInfo] {
	var list wire.List[wire.AgentInfo]
	for _, d := range talk.World.Project.Library.Agents.List().Definitions {
		list = append(list, wire.AgentInfo{Name: d.Name, Description: d.Description, Model: d.Model})
	}
	return list
}

// models are those that have a short name.
func models() wire.List[wire.ModelInfo] {
	var list wire.List[wire.ModelInfo]
	for _, alias := range []string{"default", "opus", "fable", "sonnet", "haiku"} {
		name := catalog.Resolve(alias)
		m := catalog.Lookup(name)
		list = append(list, wire.ModelInfo{
			Value: alias, ResolvedModel: name, DisplayName: cmp.Or(m.Name, name), Description: m.About(),
			SupportsEffort: m.Effort != "", SupportedEffortLevels: m.Efforts, SupportsAdaptiveThinking: m.Thinking == catalog.Adaptive,
		})
	}
	return list
}

// account says who pays, in the words of the official SDK. It has none for a provider other
// than Anthropic.
func account(provider, key string) wire.Account {
	a := wire.Account{APIKeySource: key, TokenSource: "none"}
	if key == "ANTHROPIC_AUTH_TOKEN" {
		a.APIKeySource, a.TokenSource = "none", key
	}
	switch provider {
	case "anthropic":
		a.APIProvider = "firstParty"
	case "bedrock", "vertex", "foundry":
		a.APIProvider = provider
	}
	return a
}

// hasPlugins reports whether all of these plugins are loaded.
func hasPlugins(talk *harness.Conversation, want []wire.PluginConfig) bool {
	for _, w := range want {
		if !slices.ContainsFunc(talk.World.Project.Library.Plugins, func(p plugin.Plugin) bool { return p.Dir == filepath.Clean(w.Path) }) {
			return false
		}
	}
	return true
}
