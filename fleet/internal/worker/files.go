package worker

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// files are those of a run that come from a repository.
type files struct {
	*workspace.Workspace
	last *workspace.Point // in the journal, when the run was taken

	mu      sync.Mutex
	noted   *workspace.Point // the last one in the journal
	session *session.Session // that is open; nil if none is
}

// steps records the steps of calls. The files are stored before the result of a call that may have
// changed them is in the journal: a result that is there has its files.
func (f *files) steps(s *session.Session) sched.Recorder {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.session = s
	return &filesRecorder{files: f, session: s, open: map[string]bool{}}
}

type filesRecorder struct {
	files   *files
	session *session.Session
	mu      sync.Mutex
	open    map[string]bool // calls that may change files
}

// Record implements [sched.Recorder].
func (r *filesRecorder) Record(ctx context.Context, rec sched.Record) error {
	switch rec.Step {
	case sched.Dispatched:
		if !rec.Marks.ReadOnly || rec.Marks.Effect != tool.Pure {
			r.mu.Lock()
			r.open[rec.Call.ID] = true
			r.mu.Unlock()
		}
	case sched.Finished:
		r.mu.Lock()
		changes := r.open[rec.Outcome.CallID]
		delete(r.open, rec.Outcome.CallID)
		r.mu.Unlock()
		if changes {
			return r.files.finished(ctx, r.session, rec)
		}
	}
	return r.session.Record(ctx, rec)
}

// finished stores the files and then records the result: nothing comes between the two.
func (f *files) finished(ctx context.Context, s *session.Session, rec sched.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.Store(ctx, rec.Outcome.UseID)
	if err == nil {
		err = f.note(ctx, s, p)
	}
	if err != nil {
		return err
	}
	return s.Record(ctx, rec)
}

// note writes a point into the journal.
func (f *files) note(ctx context.Context, s *session.Session, p *workspace.Point) error {
	raw, err := json.Marshal(p)
	if err == nil {
		err = s.Append(ctx, session.Entry{State: &session.State{Name: session.StateFiles, Value: raw}})
	}
	if err == nil {
		f.noted = p
	}
	return err
}

// A laterError is why a run is tried again after some time.
type laterError struct {
	error
	after time.Duration
}

// Unwrap returns the reason.
func (e *laterError) Unwrap() error { return e.error }

// maxLater is the longest wait before a run is tried again.
const maxLater = time.Minute

// maxPostponed is how often a folder may be tried: for about a day.
const maxPostponed = int(24 * time.Hour / maxLater)
