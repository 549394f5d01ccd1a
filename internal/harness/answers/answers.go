// Package answers answers haft's own slash commands that need no model, such as /cost, in
// words for the user.
//
//	text, ok, err := answers.Run(conversation, "cost", "")
//
// It is above the conversation, which it asks and sometimes changes (/model, /rewind), and
// keeps nothing: it is as safe for concurrent use as the conversation is.
package answers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/permission"
)

// Run answers one of haft's own commands that needs no model, such as /cost, in
// words for the user. It reports false for a command that it does not know, and
// for /clear and /compact, which are turns. A front end with a screen may have
// better answers of its own. What is kept beyond the session is not changed; only a user at a terminal may.
func Run(c *harness.Conversation, name, args string) (text string, ok bool, err error) {
	if changes(name, args) {
		return "", true, fmt.Errorf("/%s changes files beyond this session: type it in a terminal", strings.TrimSpace(name+" "+args))
	}
	switch name {
	case "permissions":
		if args != "" {
			err = c.Agent.SetMode(args)
		}
		if err == nil {
			text = permissionsText(c)
		}
	case "mcp":
		text, err = mcpText(c, args)
	case "resume":
		text, err = sessionsText(c, args)
	case "rewind":
		text, err = rewindText(c, args)
	case "add-dir":
		text, err = addDirText(c, args)
	default:
		text, ok = tell(c, name, args)
		return text, ok, nil
	}
	return text, true, err
}

// Text answers a user who is in front of the screen: they may also change what is kept
// beyond the session. An error is part of the answer.
func Text(c *harness.Conversation, name, args string) (text string, ok bool) {
	text, ok, err := change(c, name, args)
	if !ok {
		text, ok, err = Run(c, name, args)
	}
	if err != nil {
		text = visible.Indented(err.Error())
	}
	return text, ok
}

// tell answers what cannot fail.
func tell(c *harness.Conversation, name, args string) (text string, ok bool) {
	switch name {
	case "help":
		return helpText(c), true
	case "model":
		return changeModel(c, args), true
	case "agents":
		return agentsText(c), true
	case "skills":
		return skillsText(c), true
	case "output-style":
		return stylesText(c), true
	case "tools":
		return toolsText(c), true
	case "memory":
		return memoryText(c), true
	case "config":
		return configText(c), true
	case "doctor":
		return strings.TrimRight(doctor.Diagnose(c.World.Project, &doctor.Options{Version: c.Version, NoServers: true}).Text(), "\n") + "\n" + serversText(c), true
	}
	return standing(c, name)
}

// Cost says what the session has cost, in a sentence.
func Cost(c *harness.Conversation) string {
	usd, unknown := 0.0, false
	for _, u := range c.Agent.Usage() {
		usd += u.Cost
		unknown = unknown || u.Unpriced
	}
	if unknown {
		return fmt.Sprintf("This session has cost $%.4f, plus the cost of a model whose price is unknown.", usd)
	}
	return fmt.Sprintf("This session has cost $%.4f.", usd)
}

func helpText(c *harness.Conversation) string {
	return table(func(row func(...any)) {
		for _, k := range c.Input().Commands.List().Commands {
			row("/"+strings.TrimSpace(k.Name+" "+k.Hint), k.Description)
		}
	})
}

func changeModel(c *harness.Conversation, name string) string {
	if name == "" {
		return "The model is " + c.Agent.ContextUsage().Model + ". Choose another with /model NAME."
	}
	c.Agent.SetModel(c.Resolve(name))
	return "The model is " + c.Resolve(name) + " from the next request on."
}

func permissionsText(c *harness.Conversation) string {
	text := fmt.Sprintf("The permission mode is %s. The modes, from most to least careful: %s.\n", c.World.Engine.Policy().Mode(), strings.Trim(fmt.Sprint(permission.Modes()), "[]"))
	rules := c.Rules()
	if len(rules) == 0 {
		return text + "There are no rules yet. Add one with 'haft permissions add', or when you answer a question."
	}
	return text + table(func(row func(...any)) {
		for _, r := range rules {
			row(r.Behavior, visible.Indented(r.Text), r.Origin)
		}
	})
}

// addDirText lets tools work in more folders, or lists those there are.
func addDirText(c *harness.Conversation, args string) (string, error) {
	if args != "" {
		dir := args
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && c.World.Project.Home != "" {
			dir = filepath.Join(c.World.Project.Home, rest)
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Dir(), dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", fmt.Errorf("could not add %s: it is not a folder", args)
		}
		if err := c.AddDirectories([]string{dir}); err != nil {
			return "", err
		}
	}
	return "Tools may work in these folders (added ones for this session only):\n  " + strings.Join(c.World.Engine.Guard().Roots(), "\n  ") +
		"\nTo add one permanently, use permissions.additionalDirectories in the settings.", nil
}

// memoryText lists the instructions that are told to the model.
func memoryText(c *harness.Conversation) string {
	text := "There are no instructions here. /init writes some."
	if files := c.Instructions(); len(files) > 0 {
		text = table(func(row func(...any)) {
			for _, f := range files {
				by := ""
				if f.IncludedBy != "" {
					by = "included by " + visible.Indented(f.IncludedBy)
				}
				row(visible.Indented(f.Path), f.Source, plural.Of(len(f.Text), "byte"), by)
			}
		})
	}
	text += "\nNotes are saved in:\n" + table(func(row func(...any)) {
		for _, t := range c.NoteFiles() {
			made := ""
			if !t.Exists {
				made = "created with the first note"
			}
			row("  "+t.Source.String(), visible.Indented(t.Path), made)
		}
	})
	return text + "\nAdd one with: /memory add project|local|user NOTE"
}

// configText lists the settings.
func configText(c *harness.Conversation) string {
	return table(func(row func(...any)) {
		for _, s := range Settings(c) {
			value, origin := "-", ""
			if s.Value != "" {
				value, origin = visible.Indented(s.Value), s.Origin.String()
			}
			row(s.Key, value, s.Takes, origin)
		}
	}) + "\nSet one with: /config KEY VALUE [local|project|user]"
}

func skillsText(c *harness.Conversation) string {
	list := c.World.Project.Library.Skills.List().Skills
	if len(list) == 0 {
		return "There are no skills. They are folders with a SKILL.md in .claude/skills or .haft/skills, here or in your home folder."
	}
	return table(func(row func(...any)) {
		for _, k := range list {
			row(k.Name, k.Description)
		}
	})
}

func toolsText(c *harness.Conversation) string {
	deferred := make(map[string]bool)
	for _, t := range c.Agent.Tools().Deferred() {
		deferred[t.Name] = true
	}
	return table(func(row func(...any)) {
		for _, t := range c.Agent.Tools().All() {
			note := ""
			if deferred[t.Name] {
				note = "found by ToolSearch"
			}
			row(t.Name, t.Source, note)
		}
	})
}

// table sets rows in columns.
func table(fill func(row func(...any))) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fill(func(cells ...any) {
		for i, cell := range cells {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	})
	w.Flush()
	return strings.TrimRight(b.String(), "\n")
}
