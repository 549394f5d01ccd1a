package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/workspace"
)

const (
	// sweepTime is how often old folders are looked for.
	sweepTime = 10 * time.Minute
	// keepTime is how long the folder of a run that rests is kept for its next prompt.
	keepTime = 24 * time.Hour
)

// sweep removes folders of runs that are not needed on this machine any more, until ctx ends.
func (w *worker) sweep(ctx context.Context) {
	if w.Workspaces == "" {
		return
	}
	home, _ := os.UserHomeDir() // without one, nothing in it is secret
	for ok := true; ok; ok = engine.Pause(ctx, sweepTime) == nil {
		err := workspace.Sweep(ctx, w.folders(), home, func(run string, p *workspace.Point) bool { return w.needed(ctx, run, p) }, w.noteAside)
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("could not clean up workspaces", "error", err)
		}
	}
}

// folders has the workspaces of this tenant: a worker of another one knows nothing about its runs.
func (w *worker) folders() string { return filepath.Join(w.Workspaces, w.Tenant) }

// needed reports whether a run will want to find its folder again.
func (w *worker) needed(ctx context.Context, id string, p *workspace.Point) bool {
	run, err := w.runs.Get(ctx, id)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return false
	case err != nil:
		return true // that is not known
	case !run.Open():
		return false
	case run.State == runs.Idle || run.State == runs.Failed:
		stored := run.Workspace != nil && run.Workspace.Stored != nil
		return !(stored && run.Workspace.Stored.Commit != p.Commit) && time.Since(run.Updated) < keepTime
	}
	return true
}

// noteAside reports a folder with changes that are stored nowhere else.
func (w *worker) noteAside(a *workspace.Aside) {
	w.Log.Warn("a folder has changes of a run that are not stored; it is kept", "run", a.Run, "folder", a.Path)
	_, err := w.runs.Update(context.WithoutCancel(w.hard), a.Run, func(r *runs.Run) error {
		r.Aside = append(r.Aside, runs.Aside{Host: w.Host, Path: a.Path, Call: a.Call, Time: a.Time})
		r.Aside = r.Aside[max(0, len(r.Aside)-runs.MaxAside):]
		return nil
	})
	if err != nil && !errors.Is(err, runs.ErrNotFound) {
		w.Log.Warn("could not note a folder that is kept", "run", a.Run, "folder", a.Path, "error", err)
	}
}
