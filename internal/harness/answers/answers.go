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
	"strings"
	"text/tabwriter"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/visible"
)

// Run answers one of haft's own commands that needs no model, such as /cost, in
// words for the user. It reports false for a command that it does not know, and
// for /clear and /compact, which are turns. A front end with a screen may have
// better answers of its own. What is kept beyond the session is not changed; only a user at a terminal may.
func Run(c *harness.Conversation, name, args string) (text string, ok bool, err error) {
	if changes(name, args) {
		return "", true, fmt.Errorf("/%s %s changes what is kept beyond this session: type it on a terminal", name, args)
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
	answers := map[string]func() string{
		"help": func() string { return helpText(c) }, "context": func() string { return contextText(c) }, "cost": func() string { return costText(c) },
		"model": func() string { return changeModel(c, args) }, "agents": func() string { return agentsText(c) }, "skills": func() string { return skillsText(c) },
		"tools": func() string { return toolsText(c) }, "memory": func() string { return memoryText(c) }, "config": func() string { return configText(c) },
		"hooks": func() string { return hooksText(c) }, "status": func() string { return statusText(c) },
		"doctor": func() string {
			return strings.TrimRight(doctor.Diagnose(c.World.Project, &doctor.Options{Version: c.Version, NoServers: true}).Text(), "\n") + "\n" + serversText(c)
		},
	}
	answer, ok := answers[name]
	if !ok {
		return "", false
	}
	return answer(), true
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
