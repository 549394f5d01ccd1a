package haft

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// version is what the command line is told about this package.
const version = "0.1.0"

// flags collects command-line flags as --name=value.
type flags []string

func (f *flags) add(name, value string) { *f = append(*f, "--"+name+"="+value) }

func (f *flags) text(name, value string) {
	if value != "" {
		f.add(name, value)
	}
}

func (f *flags) on(name string, set bool) {
	if set {
		*f = append(*f, "--"+name)
	}
}

func (f *flags) list(name string, values []string) {
	if len(values) > 0 {
		f.add(name, strings.Join(values, ","))
	}
}

// maybe adds a list for which an empty list differs from no list.
func (f *flags) maybe(name string, values []string) {
	if values != nil {
		f.add(name, strings.Join(values, ","))
	}
}

func (f *flags) each(name string, values []string) {
	for _, v := range values {
		f.add(name, v)
	}
}

// args returns the command line's flags.
func (o *Options) args() ([]string, error) {
	f := flags{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json"}
	o.modelFlags(&f)
	o.permissionFlags(&f)
	if err := o.mcpFlags(&f); err != nil {
		return nil, err
	}
	o.sessionFlags(&f)
	f.text("json-schema", string(o.OutputSchema))
	f.on("include-partial-messages", o.PartialMessages)
	f.on("include-hook-events", o.HookEvents)
	f.maybe("setting-sources", o.SettingSources)
	f.each("add-dir", o.AddDirs)
	f.each("plugin-dir", o.Plugins)
	f = append(f, o.ExtraArgs...)
	if o.Settings != "" {
		f = append(f, "--settings", o.Settings)
	}
	return f, nil
}

func (o *Options) modelFlags(f *flags) {
	f.text("model", o.Model)
	f.text("fallback-model", o.FallbackModel)
	f.text("effort", o.Effort)
	switch n := o.MaxThinkingTokens; {
	case n < 0:
		f.add("thinking", "disabled")
	case n > 0:
		f.add("max-thinking-tokens", strconv.Itoa(n))
	}
	f.list("betas", o.Betas)
	if o.MaxTurns > 0 {
		f.add("max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.MaxBudgetUSD > 0 {
		f.add("max-budget-usd", strconv.FormatFloat(o.MaxBudgetUSD, 'f', -1, 64))
	}
}

func (o *Options) permissionFlags(f *flags) {
	f.maybe("tools", o.Tools)
	f.list("allowedTools", o.AllowedTools)
	f.list("disallowedTools", o.DisallowedTools)
	f.text("permission-mode", string(o.Mode))
	f.on("allow-dangerously-skip-permissions", o.Mode == BypassPermissions)
	if o.CanUseTool != nil {
		f.add("permission-prompt-tool", "stdio")
	}
}

func (o *Options) mcpFlags(f *flags) error {
	configs := map[string]json.RawMessage{}
	for name, server := range o.MCPServers {
		if _, here := server.(*ToolServer); here {
			continue
		}
		config, err := mcpConfig(name, server)
		if err != nil {
			return err
		}
		configs[name] = config
	}
	if len(configs) > 0 {
		all, err := json.Marshal(map[string]any{"mcpServers": configs})
		if err != nil {
			return fmt.Errorf("encode MCP servers: %w", err)
		}
		*f = append(*f, "--mcp-config", string(all))
	}
	f.on("strict-mcp-config", o.StrictMCP)
	return nil
}

func (o *Options) sessionFlags(f *flags) {
	f.text("resume", o.Resume)
	f.text("resume-session-at", o.ResumeAt)
	f.on("continue", o.Continue)
	f.on("fork-session", o.Fork)
	f.text("session-id", o.SessionID)
	f.on("no-session-persistence", o.NoPersistence)
}
