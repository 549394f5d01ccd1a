package project

import (
	"fmt"

	"github.com/haftdev/haft/internal/config/settings"
)

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
