package project

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/knowledge/style"
)

// A Library is what people have written down for models, for this project and for
// all. Its parts read files when they are asked.
type Library struct {
	Skills   *skill.Library
	Commands *commands.Set
	Agents   *agentdef.Set
	Styles   *style.Set
	Tools    *knowledge.Library // that run a command
	// Plugins are those that were found, Problems what is wrong with them.
	Plugins  []plugin.Plugin
	Problems []knowledge.Problem
	// Disabled are the folders of plugins that haft has installed and settings disable.
	Disabled []plugin.Dir

	ours     []knowledge.Place // the project's places
	commands []knowledge.Place
	agreed   func(knowledge.Claim) bool // whether a user trusts what a project brings
}

// enabled reports whether settings enable a plugin that is installed, or otherwise if they
// do not say. Those of a project are among them as far as the user trusts them.
func enabled(set *settings.Settings, name string, otherwise bool) bool {
	if v, ok := set.Lookup("enabledPlugins", name); ok {
		return string(v.JSON) == "true"
	}
	return otherwise
}

// withPlugins adds the plugins' hooks and servers to the settings, so that trust applies to
// them.
func (l *Library) withPlugins(set *settings.Settings) *settings.Settings {
	for _, found := range l.Plugins {
		set = settings.Of(append(slices.Clone(set.Files()), found.Settings...)...)
	}
	return set
}

// fill says where skills, commands and agents for work in a folder of the project are. A
// person's skills go before a project's of the same name, a project's commands and agents
// before a user's.
func (l *Library) fill(p *Project, dir string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // the project's is one too
	}
	user, project := knowledge.Places(p.Home, p.files.Shared, p.Dir, dir)
	if !p.Options.wants(settings.User) {
		user = nil
	}
	if !p.Options.wants(settings.Project) {
		project = nil
	}
	var plugins []knowledge.Place
	for _, found := range l.Plugins {
		plugins = append(plugins, found.Place)
	}
	l.agreed = p.agreed
	l.Skills = skill.New(slices.Concat(user, project, plugins), l.agreed)
	l.commands = slices.Concat(project, user, plugins)
	l.Commands = commands.New(commands.Options{Places: l.commands, Trust: l.agreed, Skills: l.Skills})
	l.Agents = agentdef.New(agentdef.Options{Places: l.commands, Trust: l.agreed, Given: p.Options.Agents})
	l.Styles = style.New(l.commands, l.agreed)
	l.Tools = knowledge.NewLibrary(knowledge.Tool, l.commands, l.agreed)
	for _, place := range slices.Concat(project, plugins) {
		if place.Source.InProject() {
			l.ours = append(l.ours, place)
		}
	}
}

// Hold lets the listings stand for the files until then; see [knowledge.Library.Hold].
func (l *Library) Hold(until time.Time) {
	l.Skills.Hold(until)
	l.Commands.Hold(until)
	l.Agents.Hold(until)
	l.Styles.Hold(until)
	l.Tools.Hold(until)
}

// skillsBut are rules for the skills that a model may not use, if it may use some only, by
// their names or by the ends of them that follow a plugin's.
func (l *Library) skillsBut(chosen []string) (rules []string) {
	if chosen == nil {
		return nil
	}
	for _, k := range l.Skills.List().Skills {
		if !slices.ContainsFunc(chosen, func(want string) bool { return k.Name == want || strings.HasSuffix(k.Name, ":"+want) }) {
			rules = append(rules, "Skill("+k.Name+")")
		}
	}
	return rules
}

// claims are the kinds of pieces that count only if they are trusted.
var claims = []knowledge.Kind{knowledge.Skill, knowledge.Command, knowledge.Agent, knowledge.Style, knowledge.Tool}
