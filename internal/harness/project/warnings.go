package project

import (
	"fmt"
	"io"
	"slices"

	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
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
			texts = append(texts, problem.String()+"; the whole file is ignored, including its deny rules")
		case settings.Ignored:
			texts = append(texts, problem.String())
		}
	}
	return texts
}

// managedIntact refuses to continue without what an administrator has set: a file
// that cannot be read may hold denials.
func managedIntact(s *settings.Settings) error {
	if problem, ok := skipped(s, settings.Managed); ok {
		return fmt.Errorf("cannot use the managed settings; ask your administrator to fix them: %s", problem)
	}
	return nil
}

// Intact refuses to let anything run without what the user has set: who has
// written denials and guards relies on them. Whoever runs tools without a
// conversation asks; a conversation does not begin otherwise. A project's file only
// draws a warning, as anybody may have broken it, and what it denies is the
// project's wish; but hooks of a project that guard something are not left out
// unless the user has decided that. Nor does root begin to ask nobody.
func (p *Project) Intact() error {
	if problem, ok := skipped(p.Settings, settings.User); ok {
		return fmt.Errorf("cannot use your settings, and their deny rules would not apply: %s. Fix the file", problem)
	}
	if _, off := p.Counts.Disabled(string(permission.Bypass)); !off && p.askedMode().Text == string(permission.Bypass) && p.RefusesRoot() {
		return &UsageError{ErrRoot}
	}
	return p.guarded()
}

func skipped(s *settings.Settings, source settings.Source) (settings.Problem, bool) {
	problems := s.Problems()
	i := slices.IndexFunc(problems, func(p settings.Problem) bool { return p.Kind == settings.Skipped && p.Source == source })
	if i < 0 {
		return settings.Problem{}, false
	}
	return problems[i], true
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
