// Package answers answers haft's own slash commands that need no model, such as /cost, in
// words for the user.
//
//	text, ok, err := answers.Run(conversation, words, "cost", "")
//
// It is above the conversation, which it asks and sometimes changes (/model, /rewind), and
// keeps nothing: it is as safe for concurrent use as the conversation is.
package answers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
)

// Run answers one of haft's own commands that needs no model, such as /cost, in
// words for the user. It reports false for a command that it does not know, and
// for /clear and /compact, which are turns. A front end with a screen may have
// better answers of its own. What is kept beyond the session is not changed; only a user at a terminal may.
// Words are the language of the answer; what lower layers report, such as an error, stays as it is.
func Run(c *harness.Conversation, words *lang.Catalogue, name, args string) (text string, ok bool, err error) {
	a := answerer{c, words}
	if changes(name, args) {
		return "", true, a.errorf("/%s changes saved files: run haft in a terminal to use it", strings.TrimSpace(name+" "+args))
	}
	switch name {
	case "permissions":
		if args != "" {
			err = c.Agent.SetMode(args)
		}
		if err == nil {
			text = a.permissionsText()
		}
	case "mcp":
		text, err = a.mcpText(args)
	case "resume":
		text, err = a.sessionsText(args)
	case "rewind":
		text, err = a.rewindText(args)
	case "add-dir":
		text, err = a.addDirText(args)
	default:
		text, ok = a.tell(name, args)
		return text, ok, nil
	}
	return text, true, err
}

// An answerer answers about a conversation in the language of its user.
type answerer struct {
	c     *harness.Conversation
	words *lang.Catalogue
}

func (a answerer) t(text lang.Text, args ...any) string { return a.words.T(text, args...) }

func (a answerer) errorf(text lang.Text, args ...any) error { return errors.New(a.t(text, args...)) }

// AtTerminal is Run for a user who types at a terminal: they may also change what is kept
// beyond the session.
func AtTerminal(c *harness.Conversation, words *lang.Catalogue, name, args string) (text string, ok bool, err error) {
	text, ok, err = answerer{c, words}.change(name, args)
	if !ok {
		text, ok, err = Run(c, words, name, args)
	}
	return text, ok, err
}

// tell answers what cannot fail.
func (a answerer) tell(name, args string) (text string, ok bool) {
	switch name {
	case "help":
		return a.helpText(), true
	case "model":
		return a.changeModel(args), true
	case "agents":
		return a.agentsText(), true
	case "skills":
		return a.skillsText(), true
	case "output-style":
		return a.stylesText(), true
	case "tools":
		return a.toolsText(), true
	case "memory":
		return a.memoryText(), true
	case "config":
		return a.configText(), true
	case "doctor":
		return strings.TrimRight(doctor.Diagnose(a.c.World.Project, &doctor.Options{Version: a.c.Version, NoServers: true, Lang: a.words}).Text(), "\n") + "\n" + a.serversText(), true
	}
	return a.standing(name)
}

// Cost says what the session has cost, in a sentence.
func Cost(c *harness.Conversation, words *lang.Catalogue) string {
	usd, unknown := 0.0, false
	for _, u := range c.Agent.Usage() {
		usd += u.Cost
		unknown = unknown || u.Unpriced
	}
	if unknown {
		return words.T("This session has cost $%.4f, plus the cost of a model whose price is unknown.", usd)
	}
	return words.T("This session has cost $%.4f.", usd)
}

func (a answerer) helpText() string {
	return table(func(row func(...any)) {
		for _, k := range a.c.Input().Commands.List().Commands {
			row("/"+strings.TrimSpace(k.Name+" "+k.Hint), a.t(lang.Text(k.Description)))
		}
	})
}

func (a answerer) changeModel(name string) string {
	if name == "" {
		return a.t("The model is %s. Choose another with /model NAME.", a.c.Agent.ContextUsage().Model)
	}
	a.c.Agent.SetModel(a.c.Resolve(name))
	return a.t("The model is %s, starting with the next request.", a.c.Resolve(name))
}

func (a answerer) permissionsText() string {
	text := a.t("The permission mode is %s. The modes, from most to least careful: %s.", a.c.World.Engine.Policy().Mode(), strings.Trim(fmt.Sprint(permission.Modes()), "[]")) + "\n"
	rules := a.c.Rules()
	if len(rules) == 0 {
		return text + a.t("There are no rules yet. Add one with 'haft permissions add', or when you answer a question.")
	}
	return text + table(func(row func(...any)) {
		for _, r := range rules {
			row(r.Behavior, visible.Indented(r.Text), r.Origin)
		}
	})
}

// addDirText lets tools work in more folders, or lists those there are.
func (a answerer) addDirText(args string) (string, error) {
	if args != "" {
		dir := args
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && a.c.World.Project.Home != "" {
			dir = filepath.Join(a.c.World.Project.Home, rest)
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(a.c.Dir(), dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", a.errorf("could not add %s: it is not a folder", args)
		}
		if err := a.c.AddDirectories([]string{dir}); err != nil {
			return "", err
		}
	}
	return a.t("Tools may work in these folders (added ones for this session only):") + "\n  " + strings.Join(a.c.World.Engine.Guard().Roots(), "\n  ") +
		"\n" + a.t("To add one permanently, use permissions.additionalDirectories in the settings."), nil
}

// memoryText lists the instructions that are told to the model.
func (a answerer) memoryText() string {
	text := a.t("There are no instructions here. /init writes some.")
	if files := a.c.Instructions(); len(files) > 0 {
		text = table(func(row func(...any)) {
			for _, f := range files {
				by := ""
				if f.IncludedBy != "" {
					by = a.t("included by %s", visible.Indented(f.IncludedBy))
				}
				row(visible.Indented(f.Path), f.Source, a.words.Count(len(f.Text), "byte"), by)
			}
		})
	}
	text += "\n" + a.t("Notes are saved in:") + "\n" + table(func(row func(...any)) {
		for _, t := range a.c.NoteFiles() {
			made := ""
			if !t.Exists {
				made = a.t("created with the first note")
			}
			row("  "+t.Source.String(), visible.Indented(t.Path), made)
		}
	})
	return text + "\n" + a.t("Add one with: %s", "/memory add project|local|user NOTE")
}

// configText lists the settings.
func (a answerer) configText() string {
	return table(func(row func(...any)) {
		for _, s := range Settings(a.c) {
			value, origin := "-", ""
			if s.Value != "" {
				value, origin = visible.Indented(s.Value), s.Origin.String()
			}
			row(s.Key, value, Takes(a.words, s.Knob), Meaning(a.words, s.Knob), origin)
		}
	}) + "\n" + a.t("Set one with: %s", "/config KEY VALUE [local|project|user]")
}

func (a answerer) skillsText() string {
	list := a.c.World.Project.Library.Skills.List().Skills
	if len(list) == 0 {
		return a.t("There are no skills. A skill is a folder with a SKILL.md in .claude/skills or .haft/skills, in the project or in your home folder.")
	}
	return table(func(row func(...any)) {
		for _, k := range list {
			row(k.Name, k.Description)
		}
	})
}

func (a answerer) toolsText() string {
	deferred := make(map[string]bool)
	for _, t := range a.c.Agent.Tools().Deferred() {
		deferred[t.Name] = true
	}
	return table(func(row func(...any)) {
		for _, t := range a.c.Agent.Tools().All() {
			note := ""
			if deferred[t.Name] {
				note = a.t("found by ToolSearch")
			}
			row(t.Name, t.Source, note)
		}
	})
}

// table sets rows in columns.
func table(fill func(row func(...any))) string {
	var rows [][]string
	var widths []int
	fill(func(cells ...any) {
		var row []string
		for i, cell := range cells {
			text := fmt.Sprint(cell)
			row = append(row, text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(text))
		}
		rows = append(rows, row)
	})
	var b strings.Builder
	for _, row := range rows {
		line, behind := "", 0
		for i, text := range row {
			line += strings.Repeat(" ", behind) + text
			behind = widths[i] - columns(text) + 2
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// columns is how much room a text takes on a terminal: Chinese, Japanese and Korean
// characters take two columns, marks above and below others none.
func columns(text string) (n int) {
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
