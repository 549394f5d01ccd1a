package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/text/plural"
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

// keep returns the session with checkpoints; a session that is not on the disk has none. Steps
// is that of [TalkOptions].
func (w *World) keep(s *session.Session, steps func(*session.Session) sched.Recorder) (agent.Journal, *checkpoint.Keeper) {
	if s.Dir() == "" {
		w.keeper.Store(nil)
		return s, nil
	}
	k := checkpoint.New(w.Project.Dir, s, &checkpoint.Options{FileTools: fileTools, Noted: w.Shell.Previewed, Home: w.Project.Home, Writes: w.commandWrites, Tell: w.uncovered})
	w.keeper.Store(k)
	var next sched.Recorder = s
	if steps != nil {
		next = steps(s)
	}
	return journal{s, k.Recorder(next)}, k
}

// commandWrites returns what the command of a call is known to write.
func (w *World) commandWrites(c *tool.Call) []string {
	a := analysisOf(c)
	if a == nil {
		return nil
	}
	var paths []string
	for _, path := range a.Writes {
		if name, ok := fullName(path); ok {
			paths = append(paths, name)
		}
	}
	return paths
}

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

// restorable reports whether a rewind restores all that a call would change: a change that
// was previewed is recorded as it is applied, and the files that a command names and does
// nothing else to are covered if the look at the tree covers them.
func (w *World) restorable(ctx context.Context, c *tool.Case) bool {
	k := w.keeper.Load()
	switch {
	case k == nil || w.Project.Options.ToolHost != nil:
		return false
	case c.Ran():
		return c.Unclear == nil
	}
	paths, ok := onlyWrites(analysisOf(c.Call))
	return ok && k.Restores(ctx, paths)
}

// uncovered tells the user which changes a rewind will not undo.
func (w *World) uncovered(text string) {
	w.link.Emit(agent.Notice{Level: "notice", Text: "Rewind is limited here: " + text + "."})
}

// settleWrites repairs what the writes of dead processes have left, of any session, and
// reports each.
func (w *World) settleWrites() {
	left, err := w.Files.Recover()
	if err != nil {
		w.link.Emit(agent.Notice{Level: "warning", Text: "Could not check for interrupted writes: " + err.Error()})
	}
	for _, l := range left {
		text := l.Path + ": " + l.Action
		if l.Saved != "" {
			text += ". Its content from before an interrupted write is in " + l.Saved
		}
		w.link.Emit(agent.Notice{Level: "warning", Text: text})
	}
}

// recover finishes what an earlier process of the session left undone.
func (w *World) recover(ctx context.Context, k *checkpoint.Keeper) error {
	r, err := k.Recover(ctx)
	if err != nil {
		return err
	}
	if len(r.Calls) > 0 {
		w.link.Emit(agent.Notice{Level: "notice", Text: plural.Forms(len(r.Calls), "call was interrupted when the session ended. Its changes can be rewound.", "calls were interrupted when the session ended. Their changes can be rewound.")})
	}
	if len(r.Restored) > 0 {
		w.link.Emit(agent.Notice{Level: "notice", Text: "Finished an interrupted rewind: " + strings.Join(r.Restored, ", ")})
	}
	for _, path := range r.Left {
		w.link.Emit(agent.Notice{Level: "warning", Text: "A rewind was interrupted. " + path + " has changed since or is outside the project, so it was not restored."})
	}
	return nil
}

// PlanRewind says what it takes to restore files to how they were before a message or a
// call; "" means the user's last message.
func (c *Conversation) PlanRewind(ctx context.Context, to string) (*checkpoint.Plan, error) {
	j := c.Journal()
	if j.Path() == "" {
		return nil, errors.New("this session is not saved, so there is nothing to rewind to")
	}
	if _, err := os.Lstat(j.Path()); err != nil {
		return nil, errors.New("this session has no messages yet, so there is nothing to rewind to")
	}
	return checkpoint.NewPlan(ctx, j.Path(), to, j.Blobs())
}

// Rewind carries out a plan, and tells the model; see [checkpoint.Plan.Apply].
func (c *Conversation) Rewind(ctx context.Context, p *checkpoint.Plan, force bool) (undo string, err error) {
	undo, err = p.Apply(ctx, c.Journal(), &checkpoint.ApplyOptions{Force: force})
	if err == nil {
		c.notes.Add(restoredText(p, c.World.Project.Dir))
	}
	return undo, err
}
