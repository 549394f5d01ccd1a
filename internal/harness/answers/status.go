package answers

import (
	"cmp"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
)

// standing answers what is about the whole session.
func (a answerer) standing(name string) (text string, ok bool) {
	switch name {
	case "status":
		return a.statusText(), true
	case "hooks":
		return a.hooksText(), true
	}
	return a.picture(name)
}

// statusText says what this conversation is made of.
func (a answerer) statusText() string {
	connected := 0
	servers := a.c.MCP.Status()
	for _, s := range servers {
		if s.State == mcp.Connected {
			connected++
		}
	}
	var files []string
	for _, f := range a.c.World.Project.Counts.Files() {
		if f.Path != "" {
			files = append(files, visible.Indented(f.Path))
		}
	}
	var memory []string
	for _, f := range a.c.Instructions() {
		memory = append(memory, visible.Indented(f.Path))
	}
	return table(func(row func(...any)) {
		row(a.t("Version"), a.c.Version)
		row(a.t("Session"), a.c.Agent.Session())
		row(a.t("Folder"), visible.Indented(a.c.Dir()))
		for _, dir := range a.c.World.Engine.Guard().Roots()[1:] {
			row("  "+a.t("added"), visible.Indented(dir))
		}
		row(a.t("Model"), a.c.Agent.ContextUsage().Model)
		row(a.t("Provider"), strings.TrimSpace(a.c.Provider+" "+a.keyText(a.c.KeySource)))
		row(a.t("Permission mode"), a.c.World.Engine.Policy().Mode())
		row(a.t("Sandbox"), a.sandboxText())
		row(a.t("MCP servers"), a.t("%d of %d connected", connected, len(servers)))
		row(a.t("Settings"), cmp.Or(strings.Join(files, ", "), a.t("none")))
		row(a.t("Instructions"), cmp.Or(strings.Join(memory, ", "), a.t("none")))
	})
}

func (a answerer) keyText(source string) string {
	if source == "" {
		return ""
	}
	return a.t("(key: %s)", source)
}

func (a answerer) sandboxText() string {
	s := a.c.World.Sandbox()
	switch {
	case !s.Known:
		return a.t("not tried yet")
	case s.Mode == settings.SandboxOff:
		return a.t("off")
	}
	return s.Tier.Kind.String()
}

// hooksText lists the hooks that run, in their order, and those that are not trusted.
func (a answerer) hooksText() string {
	hooks, off := a.c.World.Project.Counts.Hooks(), a.c.World.Project.Counts.Flag("disableAllHooks")
	text := a.t("No hooks are set up. Add them under \"hooks\" in the settings; see 'haft help hooks'.")
	if off {
		text = a.t("No hooks run: disableAllHooks is set.")
	}
	if len(hooks) > 0 {
		text = table(func(row func(...any)) {
			for _, h := range hooks {
				row(h.Event, visible.Indented(cmp.Or(h.Matcher, "*")), oneLine(cmp.Or(h.Command, h.URL, h.Prompt)), h.Origin)
			}
		})
	}
	if len(hooks) > 0 && off {
		text += "\n" + a.t("Only your administrator's hooks run: disableAllHooks is set.")
	}
	for _, h := range a.c.World.Project.Held {
		if h.Kind == trust.Hook {
			text += "\n" + visible.Indented(h.String())
		}
	}
	return text
}
