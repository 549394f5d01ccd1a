package headless

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/catalog"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/regular"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// facts are what every turn begins with.
func (s *server) facts(ev agent.TurnStarted) *wire.Init {
	talk := s.opened()
	init := &wire.Init{
		Cwd: talk.Dir(), Model: ev.Model, PermissionMode: ev.Mode, APIKeySource: talk.KeySource, ClaudeCodeVersion: s.opts.Version,
		OutputStyle: "default", Betas: s.opts.Talk.Betas, Capabilities: capabilities(),
		AdditionalDirectories: talk.World.Engine.Guard().Roots()[1:], FastModeState: "off",
	}
	init.MCPServers = initServers(talk)
	for _, t := range ev.Tools.All() {
		init.Tools = append(init.Tools, announced(t))
	}
	for _, c := range s.commands(talk) {
		init.SlashCommands = append(init.SlashCommands, c.Name)
	}
	for _, a := range s.agents(talk) {
		init.Agents = append(init.Agents, a.Name)
	}
	for _, k := range talk.World.Project.Library.Skills.List().Skills {
		init.Skills = append(init.Skills, k.Name)
	}
	init.Plugins = plugins(talk)
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

// plugins tells what there is; those that are added later count from the next
// session on.
func (s *server) plugins(talk *harness.Conversation) wire.ReloadPluginsReply {
	return wire.ReloadPluginsReply{Commands: s.commands(talk), Agents: s.agents(talk), Plugins: plugins(talk), MCPServers: mcpStatus(talk).MCPServers}
}

// capabilities are the parts of the protocol beyond its first version.
func capabilities() []string {
	return []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1", "sdk_mcp_tools_list_changed", "sdk_mcp_manifests", "mcp_read_resource_v1"}
}

// announced is a tool's name in the list of tools, where one keeps its older name.
func announced(t *tool.Tool) string {
	if t.Name == "Agent" {
		return "Task"
	}
	return t.Name
}

// commands are what can be typed after a slash.
func (s *server) commands(talk *harness.Conversation) wire.List[wire.Command] {
	var list wire.List[wire.Command]
	for _, c := range talk.Input().Commands.List().Commands {
		list = append(list, wire.Command{Name: c.Name, Description: c.Description, ArgumentHint: c.Hint, Builtin: c.Origin == command.Builtin})
	}
	return list
}

// agents are those that work can be given to.
func (s *server) agents(talk *harness.Conversation) wire.List[wire.AgentInfo] {
	var list wire.List[wire.AgentInfo]
	for _, d := range talk.World.Project.Library.Agents.List().Definitions {
		list = append(list, wire.AgentInfo{Name: d.Name, Description: d.Description, Model: d.Model})
	}
	return list
}

// models are those that have a short name.
func models() wire.List[wire.ModelInfo] {
	var list wire.List[wire.ModelInfo]
	for _, alias := range []string{"default", "opus", "sonnet", "haiku"} {
		name := catalog.Default
		if alias != "default" {
			name = catalog.Resolve(alias)
		}
		m := catalog.Lookup(name)
		list = append(list, wire.ModelInfo{
			Value: alias, ResolvedModel: name, DisplayName: cmp.Or(m.Name, name), Description: fmt.Sprintf("%d tokens of context", m.Context),
			SupportsEffort: m.Effort != "", SupportsAdaptiveThinking: m.Thinking == catalog.Adaptive,
		})
	}
	return list
}

// contextUsage says what fills the context.
func (s *server) contextUsage(talk *harness.Conversation) wire.ContextUsage {
	c := talk.ContextUsage()
	u := wire.ContextUsage{
		TotalTokens: int(c.Total), MaxTokens: int(c.Window), RawMaxTokens: int(c.Window), Model: c.Model,
		AutoCompactThreshold: int(c.CompactAt), IsAutoCompactEnabled: c.CompactAt > 0,
	}
	if c.Window > 0 {
		u.Percentage = float64(c.Total) * 100 / float64(c.Window)
	}
	for _, p := range []struct {
		id, name, kind string
		tokens         int64
	}{
		{"system_prompt", "System prompt", "used", c.System}, {"system_tools", "System tools", "used", c.Tools},
		{"messages", "Messages", "used", c.Messages}, {"free_space", "Free space", "free", max(0, c.Window-c.Total)},
	} {
		u.Categories = append(u.Categories, wire.ContextCategory{ID: p.id, Name: p.name, Tokens: int(p.tokens), Color: "inactive", Kind: p.kind})
	}
	return u
}

func (s *server) usage(talk *harness.Conversation) wire.UsageReply {
	models, cost := s.tell.modelUsage(talk.Usage())
	return wire.UsageReply{Session: wire.SessionUsage{
		TotalCostUSD: cost, ModelUsage: models, TotalDurationMS: time.Since(s.began).Milliseconds(), TotalAPIDurationMS: s.asked.Load(),
	}}
}

// readFile reads a file as the Read tool would be allowed to.
func (s *server) readFile(talk *harness.Conversation, r *wire.ReadFile) (any, error) {
	path := r.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(talk.Dir(), path)
	}
	if !talk.World.MayRead(path) {
		return nil, fmt.Errorf("read %s: a rule denies it", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a file", path)
	}
	limit := int64(r.MaxBytes)
	if limit <= 0 {
		limit = usualFile
	}
	raw, truncated, err := regular.Head(path, min(limit, maxFile))
	if err != nil {
		return nil, err
	}
	reply := wire.ReadFileReply{AbsPath: path, Truncated: truncated, RequestedPath: r.Path}
	if r.Encoding == "base64" {
		reply.Contents, reply.Encoding = base64.StdEncoding.EncodeToString(raw), "base64"
		return reply, nil
	}
	lossy := !utf8.Valid(raw)
	reply.Contents, reply.Lossy = string(raw), &lossy
	return reply, nil
}

const (
	usualFile = 1 << 20 // is what a program gets that names no limit
	maxFile   = 32 << 20
)
