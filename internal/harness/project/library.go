package project

import (
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	commands "github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/instructions"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/trust"
	"github.com/haftdev/haft/settings"
)

// A Library is what people have written down for models, for this project and for
// all. Its parts read files when they are asked.
type Library struct {
	Skills   *skill.Library
	Commands *commands.Set
	Agents   *agentdef.Set
	// Plugins are those that were found, Problems what is wrong with them.
	Plugins  []plugin.Plugin
	Problems []knowledge.Problem

	ours     []knowledge.Place // the project's places
	commands []knowledge.Place
}

// addPlugins finds plugins and takes their hooks and servers in among the
// settings, where trust in a project's is decided.
func (p *Project) addPlugins() {
	var dirs []plugin.Dir
	for _, d := range plugin.Find(p.Home, p.Dir) {
		if p.wants(d.Source) {
			dirs = append(dirs, d)
		}
	}
	for _, dir := range p.Options.Plugins {
		dirs = append(dirs, plugin.Dir{Path: dir, Source: settings.Flag})
	}
	p.Library = new(Library)
	var problems []knowledge.Problem
	if p.wants(settings.User) {
		var installed []plugin.Dir
		installed, p.Library.Problems = plugin.Installed(p.Home, p.Dir, p.enabled)
		dirs = append(dirs, installed...)
	}
	p.Library.Plugins, problems = plugin.Load(dirs)
	p.Library.Problems = append(p.Library.Problems, problems...)
	for _, found := range p.Library.Plugins {
		p.Settings = settings.Of(append(slices.Clone(p.Settings.Files()), found.Settings...)...)
	}
}

// enabled reports whether the person has enabled a plugin. What a project enables
// does not count: it is not the one who installs.
func (p *Project) enabled(name string) bool {
	for _, f := range p.Settings.Files() {
		if f.Source.InProject() {
			continue
		}
		if v, ok := f.Value("enabledPlugins", name); ok {
			return string(v.JSON) == "true"
		}
	}
	return false
}

func (p *Project) wants(s settings.Source) bool {
	return p.Options.Sources == nil || slices.Contains(p.Options.Sources, s)
}

// fillLibrary says where skills, commands and agents for work in dir are. A person's skills go
// before a project's of the same name, a project's commands and agents before a
// person's.
func (p *Project) fillLibrary(dir string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // the project's is one too
	}
	user, project := knowledge.Places(p.Home, p.Dir, dir)
	if !p.wants(settings.User) {
		user = nil
	}
	if !p.wants(settings.Project) {
		project = nil
	}
	var plugins []knowledge.Place
	for _, found := range p.Library.Plugins {
		plugins = append(plugins, found.Place)
	}
	l := p.Library
	l.Skills = skill.New(slices.Concat(user, project, plugins), p.agreed)
	l.commands = slices.Concat(project, user, plugins)
	l.Commands = p.CommandsWith(nil)
	l.Agents = agentdef.New(agentdef.Options{Places: slices.Concat(project, user, plugins), Trust: p.agreed, Given: p.Options.Agents})
	for _, place := range slices.Concat(project, plugins) {
		if place.Source.InProject() {
			l.ours = append(l.ours, place)
		}
	}
}

// CommandsWith returns the commands of the library, and the prompts of MCP servers as
// commands; nil means none.
func (p *Project) CommandsWith(prompts func() []commands.Prompt) *commands.Set {
	return commands.New(commands.Options{Places: p.Library.commands, Trust: p.agreed, Skills: p.Library.Skills, Prompts: prompts})
}

// Faults returns what is wrong with any file of the library.
func (l *Library) Faults() []knowledge.Problem {
	return slices.Concat(l.Problems, l.Skills.List().Problems, l.Commands.List().Problems, l.Agents.List().Problems)
}

// agreed reports whether a person trusts what a project brings, as it is now.
func (p *Project) agreed(c knowledge.Claim) bool {
	return p.Options.Vouched || p.Options.TrustProject || p.Folder != nil && p.Folder.Agreed(c)
}

// MayInclude reports whether a person trusts a project's instructions to include a
// file from outside of it.
func (p *Project) MayInclude(from, path string) bool {
	if p.Folder == nil || p.Options.TrustProject {
		return p.Options.TrustProject
	}
	ok, err := p.Folder.Trusted(p.Folder.Outside(from, path))
	return err == nil && ok
}

// Items returns everything of the project that counts only if it is trusted: what
// its settings ask for, its skills, commands and agents, and what its instructions
// include from outside.
func (p *Project) Items() []trust.Item {
	items := p.Folder.Items(p.Settings)
	for _, kind := range []knowledge.Kind{knowledge.Skill, knowledge.Command, knowledge.Agent} {
		knowledge.NewLibrary(kind, p.Library.ours, func(c knowledge.Claim) bool {
			items = append(items, p.Folder.Claim(c))
			return false
		}).List()
	}
	instructions.Load(p.Guard.Cwd(), p.Home, &instructions.Options{Root: p.Dir, Sources: p.Options.Sources, Trusted: func(from, path string) bool {
		items = append(items, p.Folder.Outside(from, path))
		return false
	}})
	return items
}

// HeldClaims returns the skills, commands and agents of the project that nobody
// has trusted as they are.
func (p *Project) HeldClaims() []trust.Held {
	if p.Folder == nil {
		return nil
	}
	var held []trust.Held
	for _, kind := range []knowledge.Kind{knowledge.Skill, knowledge.Command, knowledge.Agent} {
		for _, c := range knowledge.NewLibrary(kind, p.Library.ours, p.agreed).List().Held {
			held = append(held, trust.Held{Item: p.Folder.Claim(c)})
		}
	}
	return held
}
