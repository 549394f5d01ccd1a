package harness

import (
	"fmt"
	"slices"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
)

// maxFaults is how many files a start names in which something is wrong. A repository may have
// dozens, and the warnings come at every start.
const maxFaults = 5

// Warnings are what a user should know before anything runs here: settings that do not take
// effect, with file and line. A conversation reports them when it begins; a caller that
// opens a world without a conversation shows them itself.
func (w *World) Warnings() []agent.Notice { return w.warnings(w.lead) }

// warnOfSettings reports what has no effect in a conversation with this main agent.
func (w *World) warnOfSettings(lead *agentdef.Definition) {
	for _, warning := range w.warnings(lead) {
		w.link.Warn(warning.Tag, warning.Text)
	}
}

func (w *World) warnings(lead *agentdef.Definition) []agent.Notice {
	var list []agent.Notice
	add := func(tag, text string) { list = append(list, agent.Notice{Level: "warning", Tag: tag, Text: text}) }
	for _, text := range w.Project.SettingsFaults() {
		add("settings", text)
	}
	if text := w.Project.WithoutEffect(); text != "" {
		add("settings", text)
	}
	if text := w.Project.ModeFault(); text != "" {
		add("permissions", text)
	}
	for _, problem := range w.Engine.Policy().Problems() {
		add("permissions", problem.String())
	}
	for _, problem := range w.misnamed(lead) {
		add("permissions", problem.String())
	}
	for _, text := range w.idleHooks() {
		add("settings", text)
	}
	for _, text := range w.misnamedTools() {
		add("tools", text)
	}
	if _, err := w.Project.Style(); err != nil {
		add("settings", "The default output style is used. "+err.Error())
	}
	faults, held := w.Project.Check()
	for _, problem := range faults[:min(len(faults), maxFaults)] {
		add("knowledge", problem.String())
	}
	if rest := len(faults) - maxFaults; rest > 0 {
		add("knowledge", fmt.Sprintf("%d more files of skills, commands, agents or plugins have problems; list them with: haft doctor", rest))
	}
	if _, problems := w.CommandTools(); w.Project.Options.ToolHost == nil {
		for _, text := range problems {
			add("tools", text)
		}
	}
	if !w.Project.Options.AsksTrust && w.Project.Folder != nil {
		if u := trust.NewUntrusted(w.Project.Folder, slices.Concat(w.Project.Held, held)); u != nil {
			add("trust", u.Error())
		}
	}
	return list
}

// misnamedTools says which of the requested tools do not exist.
func (w *World) misnamedTools() (texts []string) {
	if len(w.Project.Options.Tools) == 0 {
		return nil
	}
	for _, name := range w.Project.Options.Tools {
		if err := project.Misnamed(permission.Rule{Text: name}); err != nil {
			texts = append(texts, fmt.Sprintf("--tools %s: %s", name, err))
		}
	}
	return texts
}
