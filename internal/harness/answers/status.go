package answers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/trust"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/settings"
)

// standing answers what is about the whole session.
func standing(c *harness.Conversation, name string) (text string, ok bool) {
	switch name {
	case "status":
		return statusText(c), true
	case "hooks":
		return hooksText(c), true
	}
	return picture(c, name)
}

// statusText says what this conversation is made of.
func statusText(c *harness.Conversation) string {
	connected := 0
	servers := c.MCP.Status()
	for _, s := range servers {
		if s.State == mcp.Connected {
			connected++
		}
	}
	var files []string
	for _, f := range c.World.Project.Counts.Files() {
		if f.Path != "" {
			files = append(files, visible.Indented(f.Path))
		}
	}
	var memory []string
	for _, f := range c.Instructions() {
		memory = append(memory, visible.Indented(f.Path))
	}
	return table(func(row func(...any)) {
		row("Version", c.Version)
		row("Session", c.Agent.Session())
		row("Folder", visible.Indented(c.Dir()))
		for _, dir := range c.World.Engine.Guard().Roots()[1:] {
			row("  added", visible.Indented(dir))
		}
		row("Model", c.Agent.ContextUsage().Model)
		row("Provider", strings.TrimSpace(c.Provider+" "+keyText(c.KeySource)))
		row("Permission mode", c.World.Engine.Policy().Mode())
		row("Sandbox", sandboxText(c))
		row("MCP servers", fmt.Sprintf("%d of %d connected", connected, len(servers)))
		row("Settings", cmp.Or(strings.Join(files, ", "), "none"))
		row("Instructions", cmp.Or(strings.Join(memory, ", "), "none"))
	})
}

func keyText(source string) string {
	if source == "" {
		return ""
	}
	return "(key: " + source + ")"
}

func sandboxText(c *harness.Conversation) string {
	s := c.World.Sandbox()
	switch {
	case !s.Known:
		return "not tried yet"
	case s.Mode == settings.SandboxOff:
		return "off"
	}
	return s.Tier.Kind.String()
}

// hooksText lists the hooks that run, in their order, and those that are not trusted.
func hooksText(c *harness.Conversation) string {
	hooks := c.World.Project.Counts.Hooks()
	text := "No hooks are set up. Add them under \"hooks\" in the settings; see docs/hooks.md."
	if len(hooks) > 0 {
		text = table(func(row func(...any)) {
			for _, h := range hooks {
				row(h.Event, visible.Indented(cmp.Or(h.Matcher, "*")), oneLine(cmp.Or(h.Command, h.URL)), h.Origin)
			}
		})
	}
	if c.World.Project.Counts.Flag("disableAllHooks") {
		text += "\nNone of them runs: disableAllHooks is set."
	}
	for _, h := range c.World.Project.Held {
		if h.Kind == trust.Hook {
			text += "\n" + visible.Indented(h.String())
		}
	}
	return text
}
