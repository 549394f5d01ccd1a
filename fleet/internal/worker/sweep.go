package worker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/session"
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
	logs := journal.New(w.Conn, w.Tenant, nil)
	for ok := true; ok; ok = engine.Pause(ctx, sweepTime) == nil {
		err := workspace.Sweep(ctx, &workspace.SweepOptions{Dir: w.folders(), Home: home, Blobs: logs.Blobs(), Aside: w.noteAside, Needed: func(run string, p *workspace.Point) (bool, *workspace.Point) {
			return w.needed(ctx, logs, run, p)
		}})
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("could not clean up workspaces", "error", err)
		}
	}
}

// folders has the workspaces of this fleet and tenant: a worker of another one knows nothing about
// its runs, and would take them for deleted.
func (w *worker) folders() string { return filepath.Join(w.Workspaces, w.Tenant+"-"+w.fleet) }

// needed reports whether a run will want to find its folder with a point again, and if not, the last
// point that others know.
func (w *worker) needed(ctx context.Context, logs *journal.Logs, id string, p *workspace.Point) (bool, *workspace.Point) {
	run, err := w.runs.Get(ctx, id)
	var stored *workspace.Point
	if err == nil && run.Workspace != nil {
		stored = run.Workspace.Stored
	}
	rests := err == nil && (run.State == runs.Idle || run.State == runs.Failed)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return false, p // what was stored of it is not wanted either
	case err != nil:
		return true, nil // that is not known
	case run.State == runs.Archived:
		return false, stored
	case run.Open() && !rests:
		return true, nil
	case rests && (stored == nil || stored.Commit == p.Commit) && time.Since(run.Updated) < keepTime:
		return true, nil
	}
	// The run may say less than the journal, and a worker that was killed may have stored more.
	raw, err := logs.LastState(ctx, id, session.StateFiles)
	if err != nil {
		return true, nil
	}
	var last *workspace.Point
	if raw != nil && json.Unmarshal(raw, &last) != nil {
		return true, nil
	}
	return false, last
}

// noteAside reports a folder with changes that are stored nowhere else.
func (w *worker) noteAside(a *workspace.Aside) {
	w.Log.Warn("kept a folder with changes of a run that are not stored", "run", a.Run, "folder", a.Path)
	_, err := w.runs.Update(context.WithoutCancel(w.hard), a.Run, func(r *runs.Run) error {
		r.Aside = append(r.Aside, runs.Aside{Host: w.Host, Path: a.Path, Call: a.Call, Time: a.Time})
		r.Aside = r.Aside[max(0, len(r.Aside)-runs.MaxAside):]
		return nil
	})
	if err != nil && !errors.Is(err, runs.ErrNotFound) {
		w.Log.Warn("could not record a kept folder", "run", a.Run, "folder", a.Path, "error", err)
	}
}
