package harness

import (
	"context"
	"path/filepath"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// fileTools change files only through the workspace, which reports each change.
var fileTools = []string{"Write", "Edit", "MultiEdit", "NotebookEdit"}

// A journal is a session that also stores files as they were before calls changed them.
type journal struct {
	*session.Session
	steps sched.Recorder
}

// Record records a step of a call, and looks at the files before and after it.
func (j journal) Record(ctx context.Context, r sched.Record) error { return j.steps.Record(ctx, r) }

// analysisOf returns what the command of a call would do; nil for other calls.
func analysisOf(c *tool.Call) *shell.Analysis {
	if c.Facts == nil {
		return nil
	}
	known, ok := c.Facts.Analysis.(shell.Analyzed)
	if !ok {
		return nil
	}
	return known.Analysis(c.Facts.Dir)
}

// fullName returns the absolute name of a file that a command names, if all of it is known.
func fullName(p shell.Path) (name string, known bool) {
	name = p.Value
	if !filepath.IsAbs(name) && p.Cwd != "" {
		name = filepath.Join(p.Cwd, name)
	}
	return name, !p.Dynamic && p.Pattern == "" && filepath.IsAbs(name)
}
