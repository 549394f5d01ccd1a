package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/text/visible"
)

// A RuleLine is a permission rule in force.
type RuleLine struct {
	Behavior, Text, Origin string
	Scope                  string // session, local, project or user; others cannot be changed
}

// permissions lists the rules with where they come from; they can be removed, and others
// added.
func (a *app) permissions(args string) {
	if args != "" {
		a.local("permissions", args)
		return
	}
	items := []pick{{value: "+", text: a.t("Add a rule…"), detail: a.t("the mode is %s; shift+tab changes it", a.talk.Rules.Mode())}}
	rules := a.talk.Rules.Rules()
	for i, r := range rules {
		items = append(items, pick{value: fmt.Sprint(i), text: fmt.Sprintf("%-5s %s", r.Behavior, r.Text), detail: r.Origin})
	}
	at := func(p pick) (r RuleLine, ok bool) {
		var i int
		if _, err := fmt.Sscan(p.value, &i); err != nil || i >= len(rules) {
			return r, false
		}
		return rules[i], true
	}
	a.pop(&picker{title: a.t("Permission rules: deny overrides ask, and ask overrides allow"), items: items, chooses: "adds or explains", acts: "removes it",
		choose: func(p pick) {
			a.closeOwn()
			if r, ok := at(p); ok {
				a.show.add(&note{text: visible.Cells(a.t("%s %s comes from %s.", r.Behavior, r.Text, r.Origin)), quiet: true})
				return
			}
			a.askRule()
		},
		act: func(p pick) {
			if r, ok := at(p); ok {
				a.closeOwn()
				a.local("permissions", strings.TrimSpace(fmt.Sprintf("remove %s %s %s", r.Behavior, r.Text, r.Scope)))
			}
		}})
}

// askRule asks for a new rule.
func (a *app) askRule() {
	var f *form
	valid := func(rule string) error {
		return a.talk.Rules.CheckRule(optionAt(ruleKinds, f.values["behavior"]), rule)
	}
	f = newForm(a.t("Which rule?"), []string{a.t("Such as %s", "Bash(git diff:*), Read(./secrets/**), Edit(/src/**), WebFetch(domain:example.com), mcp__server")}, []field{
		{name: "behavior", label: a.t("What to do with calls that match"), options: ruleKinds, value: "1", required: true},
		{name: "rule", label: a.t("Rule"), required: true, check: valid},
		{name: "scope", label: a.t("Saved in"), options: a.scopeOptions("session"), value: "2", required: true},
	}, func(v map[string]string) {
		a.closeOwn()
		a.local("permissions", fmt.Sprintf("add %s %s %s", optionAt(ruleKinds, v["behavior"]), v["rule"], optionAt([]string{"session", "local", "project", "user"}, v["scope"])))
	})
	a.pop(f)
}

// ruleKinds are what a rule can do with calls.
var ruleKinds = []string{"allow", "ask", "deny"}

// scopeOptions are where something can be kept, with the files.
func (a *app) scopeOptions(first ...string) (options []string) {
	for _, s := range append(first, "local", "project", "user") {
		text := s
		if s != "session" {
			text += ": " + a.short(a.where(s))
		}
		options = append(options, text)
	}
	return options
}

// optionAt is the option of a form's number.
func optionAt(options []string, number string) string {
	var i int
	if _, err := fmt.Sscan(number, &i); err != nil || i < 1 || i > len(options) {
		return ""
	}
	return options[i-1]
}

// A SettingLine is a single value of the settings.
type SettingLine struct {
	settings.Knob
	Value, Origin string
}

// config lists the settings; one is chosen, given a value and a file.
func (a *app) config(args string) {
	if args != "" {
		a.local("config", args)
		return
	}
	list := a.talk.Rules.Settings()
	var items []pick
	for _, s := range list {
		value := "-"
		if s.Value != "" {
			value = s.Value
		}
		items = append(items, pick{value: s.Key, text: s.Key, detail: value + "  " + answers.Meaning(a.lang, s.Knob)})
	}
	a.pop(&picker{title: a.t("Which setting?"), items: items, chooses: "changes it", choose: func(p pick) {
		a.closeOwn()
		for _, s := range list {
			if s.Key == p.value {
				a.askSetting(s)
			}
		}
	}})
}

// askSetting asks for a value and where it is kept. An empty value takes the key out.
func (a *app) askSetting(s SettingLine) {
	options := s.OneOf
	if options != nil {
		options = append(append([]string{}, options...), a.t("(not set)"))
	}
	body := []string{answers.Meaning(a.lang, s.Knob), a.t("It takes %s.", answers.Takes(a.lang, s.Knob)), a.t("It is not set.")}
	if s.Value != "" {
		body[2] = a.t("It is now %s (%s).", s.Value, s.Origin)
	}
	value := field{name: "value", label: a.t("Value"), options: options, help: a.t("empty: not set"), value: s.Value}
	if options != nil {
		value.help, value.required, value.value = "", true, strconv.Itoa(max(slices.Index(options, s.Value), 0)+1)
	}
	a.pop(newForm(s.Key, body, []field{value, {name: "scope", label: a.t("Saved in"), options: a.scopeOptions(), value: "3", required: true}}, func(v map[string]string) {
		a.closeOwn()
		typed, scope := v["value"], optionAt([]string{"local", "project", "user"}, v["scope"])
		if options != nil {
			typed = optionAt(s.OneOf, typed)
		}
		if typed == "" {
			a.local("config", "unset "+s.Key+" "+scope)
			return
		}
		a.local("config", s.Key+" "+typed+" "+scope)
	}))
}
