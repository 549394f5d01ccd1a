package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/fleet/internal/runs"
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

// dir is where the run works.
func (l *leader) dir() string {
	if l.files != nil {
		return l.files.Folder()
	}
	return l.run.Dir
}

// prepare makes the folder of a run whose files come from a repository.
func (l *leader) prepare() error {
	w, spec := l.worker, l.run.Workspace
	if spec == nil {
		return nil
	}
	if w.ToolHost != nil {
		return &workspace.RefusedError{Why: "the run works on a git repository, but this worker runs tools on another machine (--tools-on), where the repository is not available"}
	}
	if w.Workspaces == "" {
		return errors.New("this worker has no folder for workspaces; start it with --workspaces")
	}
	f := &files{}
	if !l.fresh {
		var err error
		if f.last, err = l.lastPoint(); err != nil {
			return err
		}
		f.noted = f.last
	}
	home, _ := os.UserHomeDir() // without one, nothing in it is secret
	var err error
	f.Workspace, err = workspace.Open(w.hard, &workspace.Options{
		Dir: w.folders(), Run: l.run.ID, Spec: spec.Spec, Base: spec.Base, Branch: spec.BaseBranch, Last: f.last, Blobs: l.logs.Files(l.run.ID), Home: home, Aside: w.noteAside,
	})
	if err != nil {
		return err
	}
	l.files = f
	if spec.Base != "" {
		return nil
	}
	p := f.Point()
	_, err = w.runs.Update(w.hard, l.run.ID, func(r *runs.Run) error {
		if r.Owner != w.Name || r.Workspace == nil {
			return errors.New("another worker has taken the run")
		}
		r.Workspace.Base, r.Workspace.BaseBranch = p.Base, p.Branch
		return nil
	})
	return err
}

// lastPoint is the last point in the journal; nil if there is none. Files that are behind what the
// journal says has happened are not continued with.
func (l *leader) lastPoint() (*workspace.Point, error) {
	ctx := l.worker.hard
	call, err := l.logs.Unstored(ctx, session.StateFiles)
	if err != nil {
		return nil, err
	}
	if call != "" {
		return nil, &workspace.DamagedError{Why: fmt.Sprintf("the stored files of the run are older than its journal: call %s has a result, but no files were stored with it", call)}
	}
	s, err := session.OpenLogs(l.logs, l.worker.Dir).Resume(ctx, l.run.ID, nil)
	if err != nil {
		return nil, err
	}
	raw := s.Restored().States[session.StateFiles]
	if raw == nil {
		raw = json.RawMessage("null")
	}
	var p *workspace.Point
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, &workspace.DamagedError{Why: fmt.Sprintf("the journal's record of the run's files cannot be read: %v", err)}
	}
	if len(s.Restored().Lost) == 0 {
		return p, nil
	}
	// That the outcome of a call is unknown is written as its result. It comes before the files,
	// which have none of what the call did.
	return p, errors.Join(s.Append(ctx, session.Entry{State: &session.State{Name: session.StateFiles, Value: raw}}), s.Close())
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

// keepFiles stores what has changed since the last call, such as what commands in the background
// have done, and pushes the result if the run rests. The run says where its files are.
func (l *leader) keepFiles(rests bool) error {
	f, w := l.files, l.worker
	if f == nil {
		return nil
	}
	ctx := context.WithoutCancel(w.hard)
	p, err := l.noteFiles(ctx)
	if err != nil {
		return err
	}
	pushed, pushing, pushError := l.run.Workspace.Pushed, l.run.Workspace.Pushing, ""
	if branch := l.run.Workspace.Push; branch != "" && rests {
		commit, err := l.push(ctx)
		if err != nil {
			pushing, pushError = l.run.Workspace.Pushing, err.Error()
			w.Log.Warn("could not push the result of a run", "run", l.run.ID, "branch", branch, "error", err)
		} else {
			pushed, pushing = commit, nil
		}
	}
	was := l.run.Workspace
	if len(was.Pushing) == len(pushing) && was.Stored != nil && was.Stored.Commit == p.Commit && was.Pushed == pushed && was.PushError == pushError {
		return nil
	}
	run, err := w.runs.Update(ctx, l.run.ID, func(r *runs.Run) error {
		if r.Workspace == nil || r.State == runs.Archived || r.Owner != w.Name && r.Owner != "" {
			return runs.ErrUnchanged // what is archived says where the archive's files are
		}
		r.Workspace.Stored, r.Workspace.Pushed, r.Workspace.Pushing, r.Workspace.PushError = p, pushed, pushing, pushError
		return nil
	})
	if err == nil && run.Workspace != nil {
		l.run.Workspace = run.Workspace
	}
	return err
}

// push pushes the result of the run. What is about to be pushed is noted first: a worker that ends
// right after leaves a branch that the next one knows.
func (l *leader) push(ctx context.Context) (commit string, err error) {
	f, w, was := l.files, l.worker, l.run.Workspace
	if commit, err = f.Result(ctx); err != nil {
		return "", err
	}
	if commit != was.Pushed && !slices.Contains(was.Pushing, commit) {
		run, err := w.runs.Update(ctx, l.run.ID, func(r *runs.Run) error {
			if r.Workspace == nil || r.State == runs.Archived || r.Owner != w.Name && r.Owner != "" {
				return errors.New("another worker has taken the run, or the run is archived")
			}
			r.Workspace.Pushing = append(r.Workspace.Pushing, commit)
			r.Workspace.Pushing = r.Workspace.Pushing[max(0, len(r.Workspace.Pushing)-runs.MaxPushing):]
			return nil
		})
		if err != nil {
			return "", err
		}
		l.run.Workspace = run.Workspace
	}
	return commit, f.Push(ctx, was.Push, commit, append([]string{was.Pushed}, l.run.Workspace.Pushing...))
}

// noteFiles stores the files and writes that into the journal, if there is anything new.
func (l *leader) noteFiles(ctx context.Context) (*workspace.Point, error) {
	f := l.files
	f.mu.Lock()
	defer f.mu.Unlock()
	call := ""
	if f.noted != nil {
		call = f.noted.Call
	}
	p, err := f.Store(ctx, call)
	if err != nil || f.noted != nil && f.noted.Commit == p.Commit || f.noted == nil && p.Commit == p.Base {
		return p, err
	}
	s := f.session
	if s == nil { // the conversation has ended
		s, err = session.OpenLogs(l.logs, l.worker.Dir).Resume(ctx, l.run.ID, nil)
		if errors.Is(err, session.ErrNotFound) {
			return p, nil // nothing was said
		}
		if err != nil {
			return nil, err
		}
		defer s.Close()
	}
	return p, f.note(ctx, s, p)
}

// closed says that the conversation has ended.
func (l *leader) closed() {
	if l.files == nil {
		return
	}
	l.files.mu.Lock()
	defer l.files.mu.Unlock()
	l.files.session = nil
}

// leaveFiles gives the folder back.
func (l *leader) leaveFiles(err error) {
	if l.files == nil {
		return
	}
	if !errors.Is(err, session.ErrFenced) {
		if err := l.keepFiles(!l.left); err != nil && !errors.Is(err, session.ErrFenced) {
			l.worker.Log.Error("could not store the files of a run; its folder is kept", "run", l.run.ID, "folder", l.files.Folder(), "error", err)
		}
	}
	l.files.Close()
}

// restoredText tells the model what has become of the files after its worker was lost.
func (l *leader) restoredText() string {
	f := l.files
	if f == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n[The files are as they were after the last finished call. What an interrupted call did to files is undone, unless it had just finished; its other effects are not undone. ")
	if f.last != nil && f.last.Path != f.Folder() {
		fmt.Fprintf(&b, "They are now in %s; the earlier paths in %s do not exist here. ", f.Folder(), f.last.Path)
	}
	b.WriteString("Files that git ignores, such as build output, may be missing, and nothing is staged.")
	if f.last != nil && len(f.last.Left) > 0 {
		fmt.Fprintf(&b, " These were not stored: %q.", f.last.Left) // their names are not to be taken for our words
	}
	b.WriteString("]")
	return b.String()
}

// unprepared deals with a run whose folder could not be made.
func (l *leader) unprepared(pending []runs.Prompt, err error) error {
	var refused *workspace.RefusedError
	var damaged *workspace.DamagedError
	switch {
	case errors.Is(err, session.ErrFenced):
		return err
	case errors.As(err, &refused):
		return l.reject(pending, err)
	case errors.As(err, &damaged):
		return l.quarantine(err.Error())
	}
	return l.postpone(err, true)
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

// postpone says why a run waits, and lets workers try again after a while. That a repository is away
// for some time is no fault of the run, and does not count as an attempt.
func (l *leader) postpone(why error, away bool) error {
	w := l.worker
	run, err := w.runs.Update(context.WithoutCancel(w.hard), l.run.ID, func(r *runs.Run) error {
		if !r.Open() || r.Owner != w.Name {
			return runs.ErrUnchanged
		}
		r.State, r.Owner, r.Reason = runs.Queued, "", why.Error()
		if away {
			r.Attempts, r.Taken, r.Postponed = max(0, r.Attempts-1), max(0, r.Taken-1), r.Postponed+1
		}
		return nil
	})
	if err != nil {
		return errors.Join(why, err)
	}
	return &laterError{why, min(time.Second<<min(run.Attempts+run.Postponed, 10), maxLater)}
}
