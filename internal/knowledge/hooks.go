package knowledge

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/settings"
)

// Hooks returns the hooks of a skill, a command or an agent as the settings file that they
// are written like; nil if it has none. An error means that nobody can know what they were
// to guard.
func (p Piece) Hooks() (*settings.File, error) {
	if p.Kind == Style || !p.Fields.Has("hooks") {
		return nil, nil
	}
	value, err := p.Fields.JSON("hooks")
	if err != nil {
		return nil, errHooks
	}
	file, err := ParseHooks(p.Source, p.Path, value)
	if file != nil && p.Plugin != "" {
		file.Shared = true
	}
	return file, err
}

// ParseHooks reads hooks as the settings file that they are written like; nil means none, as
// null does.
func ParseHooks(source settings.Source, path string, value []byte) (*settings.File, error) {
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	if !bytes.HasPrefix(value, []byte("{")) {
		return nil, errHooks
	}
	return settings.Parse(source, path, fmt.Appendf(nil, `{"hooks": %s}`, value))
}

var errHooks = errors.New("its hooks cannot be read: write a list of hooks for each event, as in the settings")

// HookVars are the variables that the hooks of the piece have.
func (p Piece) HookVars() map[string]string {
	vars := map[string]string{}
	if p.Kind == Skill { // as in Claude Code
		dir := filepath.Dir(p.Path)
		vars["CLAUDE_PLUGIN_ROOT"], vars["HAFT_PLUGIN_ROOT"] = dir, dir
	}
	maps.Copy(vars, p.Vars(nil))
	return vars
}

// HookProblems are what is wrong with the hooks of the piece, which run all the same.
func (p Piece) HookProblems() (problems []Problem) {
	file, err := p.Hooks()
	if file == nil || err != nil {
		return nil // then it is not listed
	}
	for _, problem := range settings.Of(file).Problems() {
		if problem.Kind != settings.Unknown {
			problems = append(problems, Problem{Path: p.Path, Text: problem.About()})
		}
	}
	return problems
}

// hookRuns returns what the hooks of the piece run, and the same as people are told it.
func (p Piece) hookRuns() (runs, said []string, err error) {
	file, err := p.Hooks()
	if file == nil || err != nil {
		return nil, nil, err
	}
	for _, h := range settings.Of(file).Hooks() {
		runs = append(runs, fillIn(h.Line(), p.HookVars()))
	}
	return runs, HookTexts(file), nil
}

// HookTexts say what the hooks of a file run and when, for people.
func HookTexts(file *settings.File) (said []string) {
	for _, h := range settings.Of(file).Hooks() {
		said = append(said, strings.TrimSpace(h.Event+" "+h.Matcher)+" runs "+h.Line()+h.URL)
	}
	return said
}

// fillIn puts values in the place of variables.
func fillIn(text string, vars map[string]string) string {
	var pairs []string
	for name, value := range vars {
		pairs = append(pairs, "${"+name+"}", value, "$"+name, value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// HookTexts say what the hooks of the piece run and when, for people.
func (p Piece) HookTexts() []string {
	_, said, _ := p.hookRuns() // one with an error is left out
	return said
}
