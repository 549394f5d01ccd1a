package project

import (
	"fmt"

	"github.com/haftdev/haft/internal/config/settings"
)

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
