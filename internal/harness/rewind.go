package harness

import (
	"context"
	"path/filepath"
	"slices"

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

// onlyWrites returns the absolute paths that a command changes, if it was shown to do nothing
// else.
func onlyWrites(a *shell.Analysis) (paths []string, ok bool) {
	if a == nil || !a.Exact || a.Critical != "" || len(a.Allow) == 0 {
		return nil, false
	}
	writes := a.Writes
	for _, c := range a.Allow {
		if !c.Edit || len(c.Assigns) > 0 || c.More {
			return nil, false
		}
		writes = append(slices.Clip(writes), c.Edits...)
	}
	for _, w := range writes {
		name, known := fullName(w)
		if !known {
			return nil, false
		}
		paths = append(paths, name)
	}
	return paths, true
}
