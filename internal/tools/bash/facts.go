package bash

import (
	"github.com/haftdev/haft/internal/shell"
)

// facts are what is found out about a command once, for everything that has to do with it;
// see [tool.Facts].
type facts struct {
	in       Input
	dir      string          // where it would run
	analysis *shell.Analysis // nil if nothing is known of commands
	sed      *substitution   // the edit that the command is; nil for any other
	file     string          // that it edits
}

// Analysis implements [shell.Analyzed].
func (f *facts) Analysis(dir string) *shell.Analysis {
	if f.dir != dir {
		return nil
	}
	return f.analysis
}
