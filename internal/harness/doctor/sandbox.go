package doctor

import (
	"strings"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/shellrun"
)

// sandbox says what confines commands here, found out by trying, and what would
// make it stronger.
func (d *Diagnosis) sandbox(p *project.Project) {
	set := p.Counts.Sandbox()
	if set.Mode == settings.SandboxOff {
		d.Warn("sandbox", d.t("off: every command runs with your full privileges"), d.t("remove \"mode\": \"off\" from sandbox in the settings"))
		return
	}
	host := shellrun.NewHost(&shellrun.Options{Reexec: p.Options.Reexec, NoProfile: true})
	tier := host.Tier(sandbox.Offline)
	if err := host.Close(); err != nil {
		d.Warn("sandbox", d.t("it could not be stopped: %s", err), "")
	}
	confined := d.t("read-only commands can only read, and other commands run with your full privileges")
	if set.Enabled {
		confined = d.t("read-only commands can only read, and other commands can write only in the project")
	}
	switch tier.Kind {
	case sandbox.TierBox:
		d.OK("sandbox", strings.Join(append([]string{d.t("box: %s; previews work", confined)}, tier.Gaps...), "; "))
	case sandbox.TierLandlock:
		d.Warn("sandbox", strings.Join(append([]string{d.t("landlock: %s", confined)}, tier.Gaps...), "; ")+". "+tier.Lost(), tier.Help())
	default:
		advice := tier.Help()
		if advice == "" {
			advice = d.t("work in a container, or keep the rules narrow")
		}
		d.Warn("sandbox", d.t("none: commands that are allowed run with your full privileges")+". "+tier.Lost(), advice)
	}
	d.deniedPaths(p)
}

// deniedPaths reports paths in the settings that are not what their author means.
func (d *Diagnosis) deniedPaths(p *project.Project) {
	patterns, missing := p.Boxes.Ineffective()
	for _, t := range patterns {
		d.Warn("sandbox", d.t("%s: %s protects nothing: patterns are not supported in sandbox.filesystem", t.Origin, t.Text), d.t("list the files and folders, one by one"))
	}
	for _, t := range missing {
		d.Warn("sandbox", d.t("%s: the sandbox denies access to %s, which does not exist", t.Origin, t.Text), d.t("correct the path; a path without / or ~/ at the beginning is in the project"))
	}
}
