package knowledge

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/settings"
)

// Hooks returns the hooks of a skill as the settings file that they are written like; nil
// if it has none. An error means that nobody can know what they were to guard.
func (p Piece) Hooks() (*settings.File, error) {
	if p.Kind != Skill || !p.Fields.Has("hooks") {
		return nil, nil
	}
	value, err := p.Fields.JSON("hooks")
	if err != nil || !bytes.HasPrefix(value, []byte("{")) {
		return nil, errors.New("its hooks cannot be read: write a list of hooks for each event, as in the settings")
	}
	return settings.Parse(p.Source, p.Path, fmt.Appendf(nil, `{"hooks": %s}`, value))
}

// HookVars are the variables that the hooks of a skill have.
func (p Piece) HookVars() map[string]string {
	dir := filepath.Dir(p.Path)
	vars := map[string]string{"CLAUDE_PLUGIN_ROOT": dir, "HAFT_PLUGIN_ROOT": dir} // as in Claude Code
	for name, value := range p.Vars(nil) {
		vars[name] = value
	}
	return vars
}

// hookRuns returns what the hooks of a skill run, and the same as people are told it.
func (p Piece) hookRuns() (runs, said []string, err error) {
	file, err := p.Hooks()
	if file == nil || err != nil {
		return nil, nil, err
	}
	for _, h := range settings.Of(file).Hooks() {
		runs = append(runs, fillIn(h.Command, p.HookVars()))
		said = append(said, strings.TrimSpace(h.Event+" "+h.Matcher)+" runs "+h.Command+h.URL)
	}
	return runs, said, nil
}

// fillIn puts values in the place of variables.
func fillIn(text string, vars map[string]string) string {
	var pairs []string
	for name, value := range vars {
		pairs = append(pairs, "${"+name+"}", value, "$"+name, value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// HookTexts say what the hooks of a skill run and when, for people.
func (p Piece) HookTexts() []string {
	_, said, _ := p.hookRuns() // one with an error is left out
	return said
}
