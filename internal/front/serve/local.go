package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// local is the [Backend] of this machine: the user's session files. A session that another
// process leads is steered through its live channel; others are led in this one.
type local struct {
	srv   *Server
	store *session.Store
}

// List implements [Backend].
func (l *local) List(_ context.Context, o *session.ListOptions) ([]session.Info, error) {
	return l.store.List(o)
}

// Info implements [Backend]. The beginning of an id is not enough: programs know it whole.
func (l *local) Info(_ context.Context, id string) (session.Info, error) {
	info, err := l.store.Info(id)
	if err == nil && filepath.Base(info.Path) != id+".jsonl" {
		err = session.ErrNotFound
	}
	return info, err
}

// Refresh implements [Backend]: the file is the journal.
func (l *local) Refresh(context.Context, string) error { return nil }

// Status implements [Backend].
func (l *local) Status(id, path string) (s Status) {
	if k := l.link(id); k != nil {
		s = Status{Running: true, PID: k.pid, Led: k.run != nil}
		s.Working = s.Led && k.run.working()
	} else if path != "" {
		s.PID, s.Running = live.Running(path)
	}
	return s
}

// link is that of a session which is watched, nil if it has none.
func (l *local) link(id string) *link {
	l.srv.mu.Lock()
	w := l.srv.watches[id]
	l.srv.mu.Unlock()
	if w == nil {
		return nil
	}
	return w.linked()
}

// Dial implements [Backend].
func (l *local) Dial(ctx context.Context, _, path string) (*Conn, error) {
	if _, ok := live.Running(path); !ok {
		return nil, live.ErrNotRunning
	}
	conn, err := live.Dial(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Conn{Stream: conn.Stream, Closer: conn, PID: conn.PID, Asks: true}, nil
}

// Watch implements [Backend]: the process that leads a session says everything.
func (l *local) Watch(context.Context, string, Watcher) {}

// Create implements [Backend].
func (l *local) Create(ctx context.Context, id string, in *NewSession) error {
	if in.Workspace != nil {
		return invalid("Only a fleet has workspaces. Give a folder with cwd, or use the API of haft-fleet.")
	}
	if info, err := os.Stat(in.Cwd); err != nil || !info.IsDir() {
		return notFolder(in.Cwd)
	}
	w, err := l.srv.watch(id)
	if err != nil {
		return err
	}
	defer w.release()
	return l.srv.lead(ctx, w, start{id: id, cwd: in.Cwd, submitted: submitted{in.Args, in.Unattended, in.Mode, in.Model, in.Title}})
}

// Outcome implements [Backend]. Results are not in the journal: those that this process has
// heard are known, and of others only that they are lost.
func (l *local) Outcome(_ context.Context, id, prompt string) (Outcome, error) {
	w, err := l.srv.watch(id)
	if err != nil {
		return Outcome{}, err
	}
	defer w.release()
	w.mu.Lock()
	outcome, known := w.outcome(prompt)
	sent := slices.Contains(w.prompts, prompt) || w.fold.Prompted(prompt)
	linked := w.link != nil || w.cleared
	over := !known && w.fold.Over(prompt)
	w.mu.Unlock()
	switch {
	case known && outcome.State != OutcomeWaiting:
		return outcome, nil
	case !sent:
		return Outcome{}, ErrNoPrompt
	case linked && over:
		return Outcome{UUID: prompt, State: OutcomeDone}, nil // its result is not kept
	case linked:
		return Outcome{UUID: prompt, State: OutcomeWaiting}, nil
	}
	return Outcome{UUID: prompt, State: OutcomeLost, Reason: "The process that ran the prompt has ended. Its work so far is in the session; send a prompt to continue."}, nil
}

// Prompt implements [Backend].
func (l *local) Prompt(ctx context.Context, id string, m *wire.User) (duplicate bool, err error) {
	k, err := l.reach(context.WithoutCancel(ctx), id)
	if err != nil {
		return false, err
	}
	return false, k.conn.Send(m)
}

// Call implements [Backend]. A session that nobody leads is resumed for what its next prompt needs;
// its title is only written down.
func (l *local) Call(ctx context.Context, id string, r wire.Request, reply any) error {
	k, err := l.reachFor(ctx, id, r)
	if err != nil || k == nil {
		return err
	}
	return k.conn.Call(ctx, r, reply)
}

// reachFor returns the link that a request goes to, nil if it was done without one.
func (l *local) reachFor(ctx context.Context, id string, r wire.Request) (*link, error) {
	w, err := l.srv.watch(id)
	if err != nil {
		return nil, err
	}
	defer w.release()
	switch r := r.(type) {
	case *wire.SetPermissionMode, *wire.SetModel, *wire.SetEffort, *wire.DescribeInput, *wire.FileSuggestions:
		return l.reach(context.WithoutCancel(ctx), id)
	case *wire.RenameSession:
		if w.connect(); w.linked() == nil {
			return nil, l.rename(ctx, id, r.Title)
		}
	case *wire.ReadFile:
		if w.connect(); w.linked() == nil {
			return nil, &Problem{status: http.StatusConflict, Code: "not_running", Message: "The session is not running, so haft cannot tell which files may be read. Send a prompt to continue the session."}
		}
	}
	if w.connect(); w.linked() == nil {
		return nil, &Problem{status: http.StatusConflict, Code: "not_running", Message: "The session is not running."}
	}
	return w.linked(), nil
}

// rename gives a session that nobody leads a title.
func (l *local) rename(ctx context.Context, id, title string) error {
	raw, err := json.Marshal(strings.TrimSpace(title))
	if err != nil {
		return err
	}
	ses, err := l.store.Resume(ctx, id, nil)
	if err != nil {
		return err
	}
	return errors.Join(ses.Append(ctx, session.Entry{State: &session.State{Name: "title", Value: raw}}), ses.Close())
}

// reach returns the link to the process that leads a session. A session that nobody
// leads is resumed here.
func (l *local) reach(ctx context.Context, id string) (*link, error) {
	w, err := l.srv.watch(id)
	if err != nil {
		return nil, err
	}
	defer w.release()
	if k := w.linked(); k != nil {
		return k, nil
	}
	path := w.file()
	if w.connect(); w.linked() != nil {
		return w.linked(), nil
	}
	if path == "" {
		return nil, &Problem{status: http.StatusConflict, Code: "not_running", Message: "The session ended before its first message."}
	}
	info, err := l.store.Info(id)
	if err != nil {
		return nil, err
	}
	if stat, err := os.Stat(info.Cwd); err != nil || !stat.IsDir() {
		return nil, &Problem{status: http.StatusConflict, Code: "no_folder", Message: "The session's folder, " + info.Cwd + ", no longer exists."}
	}
	began, err := w.submitted()
	if err != nil {
		return nil, err
	}
	err = l.srv.lead(ctx, w, start{id: id, cwd: info.Cwd, resume: true, submitted: began})
	if k := w.linked(); k != nil && (err == nil || errors.Is(err, errLed)) {
		return k, nil
	}
	if err == nil {
		err = &Problem{status: http.StatusConflict, Code: "not_running", Message: "The session has ended."}
	}
	return nil, err
}

// submitted is what the session began with, according to its journal, which must be known whole.
func (w *watch) submitted() (s submitted, err error) {
	for more := true; more; {
		if more, err = w.read(w.ctx); err != nil {
			return s, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.caughtUp {
		return s, &Problem{status: http.StatusConflict, Code: "unread", Message: "Could not resume the session: its journal cannot be read. Try again, or resume it in a terminal."}
	}
	return s, s.kept(w.fold.Submitted())
}

// Close implements [Backend].
func (l *local) Close(ctx context.Context, id string) error {
	return l.end(ctx, id, "Process %d is running the session. End it there.")
}

// end ends the process of a session that this server leads, and waits for it. One that
// another process leads stays.
func (l *local) end(ctx context.Context, id, elsewhere string) error {
	k := l.link(id)
	if k == nil {
		return nil
	}
	if k.run == nil {
		return &Problem{status: http.StatusConflict, Code: "in_use", Message: fmt.Sprintf(elsewhere, k.pid), PID: k.pid}
	}
	_ = k.conn.Call(ctx, &wire.Interrupt{CancelQueued: true}, nil) // it ends anyway
	k.end()
	select {
	case <-k.run.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Delete implements [Backend].
func (l *local) Delete(ctx context.Context, id string) error {
	if err := l.end(ctx, id, "Process %d is running the session. End the session there first."); err != nil {
		return err
	}
	if _, err := l.store.Find(id); err != nil { // one in which nothing was said has no file
		return nil
	}
	_, err := l.store.Prune(context.WithoutCancel(ctx), &session.PruneOptions{IDs: []string{id}, State: workspace.StateDir()})
	return err
}

// Fork implements [Backend].
func (l *local) Fork(ctx context.Context, id, at string) (string, error) {
	return l.store.Fork(ctx, id, at)
}

// Rewind implements [Backend]. What other programs have changed since is in the way unless
// the client discards it.
func (l *local) Rewind(ctx context.Context, id, path string, in *Rewind) (Rewound, error) {
	plan, err := checkpoint.NewPlan(ctx, path, in.To, session.BlobsOf(path))
	if errors.Is(err, checkpoint.ErrNoTarget) {
		return Rewound{}, &Problem{status: http.StatusNotFound, Code: "no_target", Message: err.Error() + "."}
	}
	if err != nil {
		return Rewound{}, err
	}
	out := Rewound{Target: plan.Target, Files: []RewoundFile{}, Insertions: plan.Insertions, Deletions: plan.Deletions, Uncovered: plan.Uncovered}
	var foreign []string
	for _, step := range plan.Steps {
		out.Files = append(out.Files, RewoundFile{step.Path, step.Action(), step.Insertions, step.Deletions, step.Foreign})
		if step.Foreign {
			foreign = append(foreign, step.Path)
		}
	}
	if in.DryRun {
		return out, nil
	}
	if len(foreign) > 0 && !in.Force {
		return Rewound{}, &Problem{status: http.StatusConflict, Code: "conflict", Message: "Another program has changed some of the files since, so nothing was rewound. Set force to discard those changes.", Paths: foreign}
	}
	w, err := l.srv.watch(id)
	if err != nil {
		return Rewound{}, err
	}
	defer w.release()
	w.connect()
	if k := w.linked(); k != nil {
		err = k.conn.Call(ctx, &wire.RewindFiles{UserMessageID: in.To}, nil)
	} else {
		out.Undo, err = l.rewindHere(context.WithoutCancel(ctx), id, plan, in.Force)
	}
	out.Done = err == nil
	return out, err
}

// rewindHere applies a plan to a session that nobody leads.
func (l *local) rewindHere(ctx context.Context, id string, plan *checkpoint.Plan, force bool) (undo string, err error) {
	ses, err := l.store.Resume(ctx, id, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, ses.Close()) }()
	if undo, err = plan.Apply(ctx, ses, &checkpoint.ApplyOptions{Force: force}); err != nil {
		return "", err
	}
	return undo, harness.NoteRewind(ctx, ses, plan, ses.Restored().Cwd)
}

// Began implements [Backend].
func (l *local) Began(_ context.Context, id string) (*NewSession, error) {
	w, err := l.srv.watch(id)
	if err != nil {
		return nil, err
	}
	defer w.release()
	b, err := w.submitted()
	return &NewSession{Args: b.Args, Unattended: b.Unattended, Mode: b.Mode, Model: b.Model, Title: b.Title}, err
}

// Speak implements [Backend].
func (l *local) Speak(ctx context.Context, in *Launching, conn io.ReadWriter) {
	Lead(ctx, conn, func(log io.Writer) (*headless.Options, error) {
		if info, err := os.Stat(in.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%q is not a folder on the server", in.Dir)
		}
		said, err := launch.Program(in.Args, l.srv.opts.Version, log)
		if err != nil {
			return nil, err
		}
		began, err := l.resumed(in.Dir, &said.Talk, log)
		if err != nil {
			return nil, err
		}
		return l.srv.opts.program(in.Dir, said, &began, log)
	})
}

// resumed is what was submitted with the session that a program resumes. It names the session,
// so that no other is resumed than the one whose flags hold.
func (l *local) resumed(dir string, t *harness.TalkOptions, log io.Writer) (began submitted, err error) {
	if t.Continue && t.Resume == "" {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if t.Resume, err = l.store.Latest(dir); err != nil && !errors.Is(err, session.ErrNotFound) {
			return began, err
		}
		if t.Continue = false; t.Resume == "" {
			fmt.Fprintln(log, "haft: there is no session in this folder to continue; starting a new one")
		}
	}
	if t.Resume == "" {
		return began, nil
	}
	info, err := l.store.Info(t.Resume)
	if errors.Is(err, session.ErrNotFound) {
		return began, nil // as the conversation reports
	}
	if err != nil {
		return began, err
	}
	t.Resume = info.ID
	w, err := l.srv.watch(info.ID)
	if err != nil {
		return began, err
	}
	defer w.release()
	return w.submitted()
}
