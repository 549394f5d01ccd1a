// Package builtin lists the tools that haft brings. The list is explicit: what
// is not here does not exist, and what a tool needs of the world is given to it
// here and nowhere else.
package builtin

import (
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/edit"
	"github.com/haftdev/haft/tool/notebook"
	"github.com/haftdev/haft/tool/read"
	"github.com/haftdev/haft/tool/sleep"
	"github.com/haftdev/haft/tool/toolsearch"
	"github.com/haftdev/haft/tool/write"
	"github.com/haftdev/haft/workspace"
)

// Tools returns the built-in tools that need nothing of the world, in no
// particular order; a [tool.Set] sorts and filters them.
func Tools() []tool.Tool {
	return []tool.Tool{
		sleep.New(),
		toolsearch.New(),
	}
}

// Files returns the tools that work on the files of a workspace.
func Files(ws *workspace.Workspace) []tool.Tool {
	return []tool.Tool{
		edit.New(ws),
		edit.NewMulti(ws),
		notebook.New(ws),
		read.New(ws, nil),
		write.New(ws),
	}
}

// Bare returns the names that a bare session keeps.
func Bare() []string { return []string{"Bash", "Edit", "Read"} }
