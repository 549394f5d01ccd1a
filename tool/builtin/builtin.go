// Package builtin lists the tools that haft brings. The list is explicit: what
// is not here does not exist, and what a tool needs of the world is given to it
// here and nowhere else.
package builtin

import (
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/tool/glob"
	"github.com/haftdev/haft/tool/grep"
	"github.com/haftdev/haft/tool/sleep"
	"github.com/haftdev/haft/tool/toolsearch"
)

// World is what tools act on. Tools that need a part which is nil are left out.
type World struct {
	Shell *bash.Tools
	// Grep and Glob say where and what the search tools may read. Give both the
	// same Searcher; nil means tools that remember nothing between calls.
	Grep *grep.Options
	Glob *glob.Options
}

// Tools returns every built-in tool that the world has what it needs for, in no
// particular order; a [tool.Set] sorts and filters them.
func (w World) Tools() []tool.Tool {
	tools := []tool.Tool{
		glob.New(w.Glob),
		grep.New(w.Grep),
		sleep.New(),
		toolsearch.New(),
	}
	if w.Shell != nil {
		tools = append(tools, w.Shell.List()...)
	}
	return tools
}

// Tools returns the built-in tools that need nothing of the world.
func Tools() []tool.Tool { return World{}.Tools() }

// Bare returns the names that a bare session keeps.
func Bare() []string { return []string{"Bash", "Edit", "Read"} }
