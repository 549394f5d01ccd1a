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
		d.Warn("sandbox", strings.Join(append([]string{tier.String(), confined}, tier.Gaps...), "; "), tier.Help())
	default:
		advice := tier.Help()
		if advice == "" {
			advice = d.t("work in a container, or keep the rules narrow")
		}
		d.Warn("sandbox", d.t("%s; commands that are allowed run with your full privileges", tier), advice)
	}
}
