// Package builtin lists the tools that haft brings. The list is explicit: what
// is not here does not exist, and what a tool needs of the world is given to it
// here and nowhere else.
package builtin

import (
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/sleep"
	"github.com/haftdev/haft/tool/toolsearch"
)

// Tools returns every built-in tool, in no particular order; a [tool.Set] sorts
// and filters them.
func Tools() []tool.Tool {
	return []tool.Tool{
		sleep.New(),
		toolsearch.New(),
	}
}

// Bare returns the names that a bare session keeps.
func Bare() []string { return []string{"Bash", "Edit", "Read"} }
