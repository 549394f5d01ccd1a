package tui

import (
	"fmt"

	"github.com/haftdev/haft/internal/config/settings"
)

// A RuleLine is a permission rule in force.
type RuleLine struct {
	Behavior, Text, Origin string
	Scope                  string // session, local, project or user; others cannot be changed
}

// ruleKinds are what a rule can do with calls.
var ruleKinds = []string{"allow", "ask", "deny"}

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
