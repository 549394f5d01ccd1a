package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/permission"
)

// RunBuiltinText is [Conversation.RunBuiltin] for a caller that only shows the answer or
// the error.
func (c *Conversation) RunBuiltinText(name, args string) (text string, ok bool) {
	text, ok, err := c.RunBuiltin(name, args)
	if err != nil {
		text = visible.Indented(err.Error())
	}
	return text, ok
}

// RunBuiltin answers one of haft's own commands that needs no model, such as /cost, in
// words for the person. It reports false for a command that it does not know, and
// for /clear and /compact, which are turns. A front end with a screen may have
// better answers of its own.
func (c *Conversation) RunBuiltin(name, args string) (text string, ok bool, err error) {
	switch name {
	case "permissions":
		if args != "" {
			err = c.SetMode(args)
		}
		if err == nil {
			text = c.permissionsText()
		}
	case "mcp":
		text, err = c.mcpText(args)
	case "resume":
		text, err = c.sessionsText(args)
	case "rewind":
		text, err = c.rewindText(args)
	default:
		text, ok = c.tell(name, args)
		return text, ok, nil
	}
	return text, true, err
}

// tell answers what cannot fail.
func (c *Conversation) tell(name, args string) (text string, ok bool) {
	switch name {
	case "help":
		return c.helpText(), true
	case "context":
		return c.contextText(), true
	case "cost":
		return c.costText(), true
	case "model":
		return c.changeModel(args), true
	case "agents":
		return c.agentsText(), true
	case "skills":
		return c.skillsText(), true
	case "tools":
		return c.toolsText(), true
	case "doctor":
		return strings.TrimRight(doctor.Diagnose(c.World.Project, &doctor.Options{Version: c.version, NoServers: true}).Text(), "\n") + "\n" + c.serversText(), true
	}
	return "", false
}

// costText tells what the session has cost, agents included, and what for.
func (c *Conversation) costText() string {
	used := c.Usage()
	if len(used) == 0 {
		return c.CostText()
	}
	open := " It has been open for " + time.Since(c.began).Round(time.Second).String() + ".\n"
	return c.CostText() + open + table(func(row func(...any)) {
		row("model", "input", "cache read", "cache write", "output")
		for _, name := range slices.Sorted(maps.Keys(used)) {
			u := used[name]
			row(name, u.Input, u.CacheRead, u.CacheWrite, u.Output)
		}
	})
}

func (c *Conversation) helpText() string {
	return table(func(row func(...any)) {
		for _, k := range c.input.Commands.List().Commands {
			row("/"+strings.TrimSpace(k.Name+" "+k.Hint), k.Description)
		}
	})
}

func (c *Conversation) contextText() string {
	u := c.ContextUsage()
	full := 0.0
	if u.Window > 0 {
		full = float64(u.Total) * 100 / float64(u.Window)
	}
	return fmt.Sprintf("The context of %s holds %d of %d tokens (%.0f%%).\n", u.Model, u.Total, u.Window, full) + table(func(row func(...any)) {
		row("system prompt", u.System)
		row("tools", u.Tools)
		row("messages", u.Messages)
		if u.CompactAt > 0 {
			row("shortened at", u.CompactAt)
		}
	})
}

func (c *Conversation) changeModel(name string) string {
	if name == "" {
		return "The model is " + c.ContextUsage().Model + ". Choose another with /model NAME."
	}
	c.SetModel(c.Resolve(name))
	return "The model is " + c.Resolve(name) + " from the next request on."
}

func (c *Conversation) permissionsText() string {
	opts, err := c.World.Project.Policy()
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("The permission mode is %s. From careful to careless there are %s.\n", c.World.Engine.Policy().Mode(), strings.Trim(fmt.Sprint(permission.Modes()), "[]"))
	if len(opts.Rules) == 0 {
		return text + "There are no rules. 'haft permissions add' and the answers to questions make some."
	}
	return text + table(func(row func(...any)) {
		for _, r := range opts.Rules {
			row(r.Behavior, r.Text, r.Origin)
		}
	})
}

func (c *Conversation) skillsText() string {
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

func (c *Conversation) toolsText() string {
	deferred := make(map[string]bool)
	for _, t := range c.Tools().Deferred() {
		deferred[t.Name] = true
	}
	return table(func(row func(...any)) {
		for _, t := range c.Tools().All() {
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
