package worker

import (
	"os"

	"github.com/haftdev/haft/fleet/internal/runs"
)

// elsewhere reports whether the folder of a run is on another machine. The run is left to the
// workers there: a folder of the same name here has other files.
func (w *worker) elsewhere(run *runs.Run) (bool, error) {
	if run.Workspace != nil || run.Host == "" || run.Host == w.Host {
		return false, nil
	}
	run, err := w.runs.Update(w.hard, run.ID, func(r *runs.Run) error {
		if r.Host == "" || r.Host == w.Host || r.Class == runs.OnHost(r.Host) {
			return runs.ErrUnchanged
		}
		r.Class, r.Owner = runs.OnHost(r.Host), ""
		if r.State == runs.Running || r.State == runs.Asking {
			r.State = runs.Queued
		}
		return nil
	})
	if err != nil || run.Host == w.Host {
		return false, err
	}
	w.Log.Info("the folder of the run is on another host", "run", run.ID, "host", run.Host)
	return true, w.runs.Wake(w.hard, run)
}

// bind notes the machine that has the folder of a run.
func (w *worker) bind(r *runs.Run) {
	if r.Workspace != nil || r.Host != "" {
		return
	}
	if info, err := os.Stat(r.Dir); err == nil && info.IsDir() {
		r.Host = w.Host
	}
}
