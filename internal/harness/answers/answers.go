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
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/permission"
)

// Run answers one of haft's own commands that needs no model, such as /cost, in
// words for the user. It reports false for a command that it does not know, and
// for /clear and /compact, which are turns. A front end with a screen may have
// better answers of its own.
func Run(c *harness.Conversation, name, args string) (text string, ok bool, err error) {
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
	default:
		text, ok = tell(c, name, args)
		return text, ok, nil
	}
	return text, true, err
}

// Text is [Run] for a caller that only shows the answer or the error.
func Text(c *harness.Conversation, name, args string) (text string, ok bool) {
	text, ok, err := Run(c, name, args)
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
	case "context":
		return contextText(c), true
	case "cost":
		return costText(c), true
	case "model":
		return changeModel(c, args), true
	case "agents":
		return agentsText(c), true
	case "skills":
		return skillsText(c), true
	case "tools":
		return toolsText(c), true
	case "doctor":
		return strings.TrimRight(doctor.Diagnose(c.World.Project, &doctor.Options{Version: c.Version, NoServers: true}).Text(), "\n") + "\n" + serversText(c), true
	}
	return "", false
}

// Cost says what the session has cost, in a sentence.
func Cost(c *harness.Conversation) string {
	usd, unknown := 0.0, false
	for _, u := range c.Agent.Usage() {
		usd += u.Cost
		unknown = unknown || u.Unpriced
	}
	if unknown {
		return fmt.Sprintf("This session has cost $%.4f, and what a model without a known price costs.", usd)
	}
	return fmt.Sprintf("This session has cost $%.4f.", usd)
}

// costText tells what the session has cost, agents included, and what for.
func costText(c *harness.Conversation) string {
	used := c.Agent.Usage()
	if len(used) == 0 {
		return Cost(c)
	}
	open := " It has been open for " + time.Since(c.Began).Round(time.Second).String() + ".\n"
	return Cost(c) + open + table(func(row func(...any)) {
		row("model", "input", "cache read", "cache write", "output")
		for _, name := range slices.Sorted(maps.Keys(used)) {
			u := used[name]
			row(name, u.Input, u.CacheRead, u.CacheWrite, u.Output)
		}
	})
}

func helpText(c *harness.Conversation) string {
	return table(func(row func(...any)) {
		for _, k := range c.Input().Commands.List().Commands {
			row("/"+strings.TrimSpace(k.Name+" "+k.Hint), k.Description)
		}
	})
}

func contextText(c *harness.Conversation) string {
	u := c.Agent.ContextUsage()
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

func changeModel(c *harness.Conversation, name string) string {
	if name == "" {
		return "The model is " + c.Agent.ContextUsage().Model + ". Choose another with /model NAME."
	}
	c.Agent.SetModel(c.Resolve(name))
	return "The model is " + c.Resolve(name) + " from the next request on."
}

func permissionsText(c *harness.Conversation) string {
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
