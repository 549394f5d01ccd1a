package project

import (
	"fmt"
	"io"
	"slices"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/text/visible"
)

// Warn tells of settings files, and values in them, that do not count.
func (p *Project) Warn(w io.Writer) {
	for _, text := range p.SettingsFaults() {
		fmt.Fprintf(w, "warning: %s\n", visible.Indented(text))
	}
}

// SettingsFaults are the problems that make settings count for less than is
// written. Keys that mean nothing to haft are left to the doctor: files are shared
// with other programs.
func (p *Project) SettingsFaults() []string {
	var texts []string
	for _, problem := range p.Settings.Problems() {
		switch problem.Kind {
		case settings.Skipped:
			texts = append(texts, problem.String()+"; the whole file is ignored")
		case settings.Ignored:
			texts = append(texts, problem.String())
		}
	}
	return texts
}

// managedIntact refuses to continue without what an administrator has set: a file
// that cannot be read may hold denials, and so may a list that cannot. No flag of the user
// replaces it.
func managedIntact(s *settings.Settings) error {
	for _, problem := range s.Problems() {
		if problem.Source == settings.Managed && (problem.Kind == settings.Skipped || problem.LosesRules()) {
			return fmt.Errorf("cannot use the managed settings; ask your administrator to fix them: %s", problem)
		}
	}
	return nil
}

// Intact refuses to let anything run without what settings files deny: who has
// written rules and guards relies on them, whichever file they are in, and a file that
// cannot be read may hold some. A caller that runs tools without a conversation asks; a
// conversation does not begin otherwise. Nor are hooks of a project that guard something
// left out unless the user has decided that, nor does root begin to ask nobody.
func (p *Project) Intact() error {
	if err := p.unreadable(); err != nil {
		return err
	}
	if _, off := p.Counts.Disabled(string(permission.Bypass)); !off && p.askedMode().Text == string(permission.Bypass) && p.RefusesRoot() {
		return &UsageError{ErrRoot}
	}
	return p.guarded()
}

// An UnreadableError says that a settings file cannot be used, so that its rules would not
// apply.
type UnreadableError struct {
	settings.Problem
	// Rest are the sources whose files can all be used.
	Rest []settings.Source
}

func (e *UnreadableError) Error() string {
	whose := "your settings"
	if e.Source.InProject() {
		whose = "the settings of this project"
	}
	return fmt.Sprintf("cannot use %s, and their deny rules would not apply: %s. Fix the file", whose, e.Problem)
}

// unreadable finds the settings files that cannot be used.
func (p *Project) unreadable() error {
	var bad *UnreadableError
	rest := []settings.Source{settings.User, settings.Project, settings.Local}
	for _, problem := range p.Settings.Problems() {
		if problem.Kind != settings.Skipped || !problem.LosesRules() {
			continue
		}
		rest = slices.DeleteFunc(rest, func(s settings.Source) bool { return s == problem.Source })
		if bad == nil || problem.Source == settings.User {
			bad = &UnreadableError{Problem: problem}
		}
	}
	if bad == nil {
		return nil
	}
	bad.Rest = rest
	return bad
}

// ModeFault says that the mode that was asked for is switched off by settings; "" if it
// is not. Who typed it was refused before.
func (p *Project) ModeFault() string {
	mode := p.askedMode()
	by, off := p.Counts.Disabled(mode.Text)
	if !off {
		return ""
	}
	return fmt.Sprintf("%s: the permission mode %s is disabled by %s; the session uses the mode %s", mode.Origin, mode.Text, by, permission.Default)
}
