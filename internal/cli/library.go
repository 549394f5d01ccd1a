package cli

import (
	"cmp"
	"fmt"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/knowledge/skill"
	"github.com/haftdev/haft/internal/knowledge/style"
)

func newSkills(s Streams) *cobra.Command {
	return (&written{
		Streams: s, name: "skills", one: "a skill", short: message("List and show skills"),
		long: `List and show skills: folders with a SKILL.md under ~/.haft/skills and
~/.claude/skills, the same folders in a project, and those of plugins. A project's
skills apply once you trust them in their current form. See 'haft help skills'.`,
		all: func(l *project.Library) ([]textInfo, []knowledge.Problem, []knowledge.Claim) {
			list := l.Skills.List()
			return each(list.Skills, skillInfo), list.Problems, list.Held
		},
		find: func(l *project.Library, name string) (textInfo, error) {
			sk, err := l.Skills.Read(name)
			info := skillInfo(sk)
			info.Text = sk.Body
			return info, err
		},
	}).command()
}

func skillInfo(s skill.Skill) textInfo {
	t := textInfo{
		Name: s.Name, Description: s.Description, Source: source(s.Source, s.Plugin), Path: s.Path,
		Hint: s.Hint, Allow: s.Allow, Model: s.Model, Runs: s.Commands(), Hooks: s.HookTexts(), Agent: forkedTo(s.Fork, s.Agent),
	}
	t.For = callers(s.ForModel, s.ForPeople)
	return t
}

// forkedTo names the agent that does a skill or command; "" if the conversation does.
func forkedTo(fork bool, agent string) string {
	if !fork {
		return ""
	}
	return cmp.Or(agent, "general-purpose")
}

// callers says who may call something.
func callers(model, people bool) []string {
	var who []string
	if model {
		who = append(who, "model")
	}
	if people {
		who = append(who, "people")
	}
	return who
}

func newAgents(s Streams) *cobra.Command {
	return (&written{
		Streams: s, name: "agents", one: "an agent's definition", short: message("List and show agents"),
		long: `List and show the agents that work can be delegated to: haft's own, Markdown files
under ~/.haft/agents and ~/.claude/agents, the same folders in a project, and those of
plugins. A project's entries apply once you trust them in their current form. See
'haft help agents'.`,
		all: func(l *project.Library) ([]textInfo, []knowledge.Problem, []knowledge.Claim) {
			list := l.Agents.List()
			return each(list.Definitions, agentInfo), list.Problems, list.Held
		},
		find: func(l *project.Library, name string) (textInfo, error) {
			d, err := l.Agents.Find(name)
			info := agentInfo(d)
			info.Text = d.Prompt
			return info, err
		},
	}).command()
}

func agentInfo(d agentdef.Definition) textInfo {
	t := textInfo{
		Name: d.Name, Description: d.Description, Source: source(d.Source, d.Plugin), Path: d.Path,
		Tools: d.Tools, Denied: d.Denied, Model: d.Model, Mode: d.Mode, Skills: d.Skills, MaxTurns: d.MaxTurns, Hooks: d.HookTexts(),
	}
	if d.Builtin {
		t.Source = "built-in"
	}
	return t
}

func newStyles(s Streams) *cobra.Command {
	return (&written{
		Streams: s, name: "styles", one: "an output style", short: message("List and show styles"),
		long: `List and show output styles: haft's own, Markdown files under
~/.haft/output-styles and ~/.claude/output-styles, the same folders in a project, and
those of plugins. The setting outputStyle chooses one. A project's styles apply once you
trust them in their current form. See 'haft help skills'.`,
		all: func(l *project.Library) ([]textInfo, []knowledge.Problem, []knowledge.Claim) {
			list := l.Styles.List()
			return each(list.Styles, styleInfo), list.Problems, list.Held
		},
		find: func(l *project.Library, name string) (textInfo, error) {
			st, err := l.Styles.Find(name)
			info := styleInfo(st)
			info.Text = st.Text
			return info, err
		},
	}).command()
}

func styleInfo(st style.Style) textInfo {
	t := textInfo{Name: st.Name, Description: st.Description, Source: source(st.Source, st.Plugin), Path: st.Path}
	if st.Builtin {
		t.Source = "built-in"
	}
	return t
}

func newCommands(s Streams) *cobra.Command {
	return (&written{
		Streams: s, name: "commands", one: "a command", short: message("List and show commands"),
		long: `List and show slash commands: haft's own, Markdown files
under ~/.haft/commands and ~/.claude/commands, the same folders in a project, those of
plugins, and skills. A project's entries apply once you trust them in their current form. See
'haft help skills'.`,
		all: func(l *project.Library) ([]textInfo, []knowledge.Problem, []knowledge.Claim) {
			list := l.Commands.List()
			return each(list.Commands, commandInfo), list.Problems, list.Held
		},
		find: func(l *project.Library, name string) (textInfo, error) {
			typed, _, isLine := command.Line(name)
			if isLine {
				name = typed
			}
			c, err := l.Commands.Find(name)
			info := commandInfo(c)
			info.Text = c.Text
			return info, err
		},
	}).command()
}

func commandInfo(c command.Command) textInfo {
	t := textInfo{
		Name: "/" + c.Name, Description: c.Description, Source: source(c.Source, c.Plugin), Path: c.Path,
		Hint: c.Hint, Allow: c.Allow, Model: c.Model, Runs: c.Commands, Hooks: c.Hooks, Agent: forkedTo(c.Fork, c.Agent),
	}
	switch c.Origin {
	case command.Builtin, command.MCP:
		t.Source = string(c.Origin)
	case command.Skill:
		t.Source = fmt.Sprintf("skill, %s", t.Source)
	}
	t.For = callers(c.ForModel, true)
	return t
}

func each[T any](list []T, info func(T) textInfo) []textInfo {
	var all []textInfo
	for _, t := range list {
		all = append(all, info(t))
	}
	return all
}
