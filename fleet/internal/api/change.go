package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// Create implements [serve.Backend]. Whether the folder is there, the worker will see.
func (b *Backend) Create(ctx context.Context, id string, in *serve.NewSession) error {
	s := &runs.Submission{ID: id, Dir: in.Cwd, Mode: in.Mode, Model: in.Model, Title: in.Title, Args: in.Args, Ask: !in.Unattended}
	if w := in.Workspace; w != nil {
		s.Workspace = &runs.Workspace{Spec: workspace.Spec{Repository: w.Repository, Ref: w.Ref}, Push: w.Push}
	}
	run, err := b.runs.Begin(ctx, s)
	var cannot *workspace.RefusedError
	if errors.As(err, &cannot) {
		return serve.Refused(http.StatusBadRequest, "invalid", cannot.Error()+".")
	}
	if err != nil {
		return refused(err)
	}
	b.noteRun(id, run)
	return nil
}

// Began implements [serve.Backend].
func (b *Backend) Began(ctx context.Context, id string) (*serve.NewSession, error) {
	run, err := b.run(ctx, id)
	if err != nil {
		return nil, err
	}
	given := cmp.Or(run.Given, &runs.Given{Mode: run.Mode, Model: run.Model, Title: run.Title})
	return &serve.NewSession{Args: run.Args, Unattended: !run.Ask, Mode: given.Mode, Model: given.Model, Title: given.Title}, nil
}

// Prompt implements [serve.Backend].
func (b *Backend) Prompt(ctx context.Context, id string, m *wire.User) (duplicate bool, err error) {
	if duplicate, err = b.runs.Prompted(ctx, id, m.UUID); duplicate || err != nil {
		return duplicate, err
	}
	p := runs.Prompt{UUID: m.UUID, Text: m.Message.Content.Text}
	if m.Message.Content.Blocks != nil {
		if p.Content, err = json.Marshal(m.Message.Content); err != nil {
			return false, err
		}
	}
	if len(p.Text) > runs.MaxInline {
		if p.Content, err = json.Marshal(p.Text); err != nil {
			return false, err
		}
		p.Text = ""
	}
	if len(p.Content) > runs.MaxInline {
		p.Blob = blob.Digest(p.Content)
		if err := b.logs.Blobs().Put(ctx, p.Blob, p.Content); err != nil {
			return false, err
		}
		p.Content = nil
	}
	return false, refused(b.submit(ctx, &runs.Submission{ID: id, Prompt: p}))
}

// submit hands a prompt to a run, which rests again if that fails. One that says where to work
// begins a run that is not there.
func (b *Backend) submit(ctx context.Context, s *runs.Submission) error {
	run, undo, err := b.runs.Reopen(ctx, s.ID)
	fresh := errors.Is(err, runs.ErrNotFound) && s.Dir != ""
	if err != nil && !fresh {
		return err
	}
	if !fresh {
		b.noteRun(s.ID, run)
	}
	_, kept, err := b.runs.Submit(ctx, s)
	if err == nil || kept != "" || fresh {
		return err
	}
	ctx, cancel := engine.Attempt(context.WithoutCancel(ctx))
	defer cancel()
	run, undoErr := undo(ctx)
	if undoErr == nil {
		b.noteRun(s.ID, run)
	}
	return errors.Join(err, undoErr)
}

// callTime is how long a request waits for a worker that is about to begin or to end.
const callTime = 15 * time.Second

// Call implements [serve.Backend]. Of a run that nobody leads, the title, the mode and the
// model are changed in its journal.
func (b *Backend) Call(ctx context.Context, id string, r wire.Request, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for {
		done, err := b.call(ctx, id, r, reply)
		if done {
			return err
		}
		if engine.Pause(ctx, 50*time.Millisecond) != nil {
			return errors.Join(err, serve.Refused(http.StatusConflict, "not_running", "No worker is running this session."))
		}
	}
}

// call makes a request of the worker that leads a run, or changes one that rests. Done is false
// if it may be otherwise in a moment.
func (b *Backend) call(ctx context.Context, id string, r wire.Request, reply any) (done bool, err error) {
	run, err := b.runs.Get(ctx, id)
	if err != nil {
		return true, refused(err)
	}
	b.noteRun(id, run)
	if r, ok := r.(*wire.CancelAsyncMessage); ok {
		return b.drop(ctx, id, r, reply)
	}
	if run.Owner != "" {
		return b.callWorker(ctx, id, r, reply)
	}
	if _, ok := r.(*wire.Interrupt); ok && run.State == runs.Queued {
		return true, b.runs.Cancel(ctx, id) // nobody has begun with it
	}
	name, value := changed(r)
	if name == "" || !run.Open() && run.State != runs.Cancelled {
		return true, serve.Refused(http.StatusConflict, "not_running", "The session is not running.")
	}
	if run.State == runs.Queued {
		return false, nil // a worker begins any moment
	}
	if err := b.note(ctx, run, name, value); err != nil {
		return !errors.Is(err, session.ErrFenced), err
	}
	return true, b.keepChange(ctx, id, r)
}

// drop cancels a prompt, whether it waits or runs. One whose worker does not answer is noted
// as unwanted, and waited for.
func (b *Backend) drop(ctx context.Context, id string, r *wire.CancelAsyncMessage, reply any) (done bool, err error) {
	err = b.runs.Drop(ctx, id, r.MessageUUID)
	if errors.Is(err, runs.ErrNoLeader) {
		return false, serve.Refused(http.StatusConflict, "not_running", "The session's worker does not answer. If the worker is lost, the prompt is cancelled when another worker takes the session.")
	}
	if said, ok := reply.(*wire.CancelAsyncMessageReply); ok {
		said.Cancelled = err == nil
	}
	return true, refused(err)
}

// callWorker makes a request of the worker that leads a run.
func (b *Backend) callWorker(ctx context.Context, id string, r wire.Request, reply any) (done bool, err error) {
	conn, err := b.Dial(ctx, id, "")
	if err != nil {
		return false, err
	}
	defer conn.Close()
	w := wire.NewConn(conn, nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.Run(ctx, func(wire.Message) {})
	}()
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-ended
		cancel()
	}()
	if err = w.Call(calling, &wire.Observe{Name: b.Name}, nil); err == nil {
		err = w.Call(calling, r, reply)
	}
	var said *wire.ControlError
	switch {
	case err == nil:
		return true, b.keepChange(ctx, id, r)
	case errors.As(err, &said):
		return true, err
	}
	return false, err
}

// changed is what a request changes in the journal; "" if that is not for who does not lead
// the session.
func changed(r wire.Request) (name, value string) {
	switch r := r.(type) {
	case *wire.RenameSession:
		return "title", strings.TrimSpace(r.Title)
	case *wire.SetPermissionMode:
		return agent.StateMode, r.Mode
	case *wire.SetModel:
		return agent.StateModel, r.Model
	}
	return "", ""
}

// note writes a fact into the journal of a run that nobody leads. A worker that takes it
// meanwhile finds out, or this does.
func (b *Backend) note(ctx context.Context, run *runs.Run, name, value string) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	ses, err := b.sessions().Resume(ctx, run.ID, nil)
	if errors.Is(err, session.ErrNotFound) {
		return nil // nothing was said yet; the run has it
	}
	if err != nil {
		return err
	}
	entries := []session.Entry{{State: &session.State{Name: name, Value: raw}}}
	if run.Workspace != nil && len(ses.Restored().Lost) > 0 {
		// That the outcome of a call is unknown is written as its result, and its files are those before it.
		files := ses.Restored().States[session.StateFiles]
		if files == nil {
			files = json.RawMessage("null")
		}
		entries = append(entries, session.Entry{State: &session.State{Name: session.StateFiles, Value: files}})
	}
	return errors.Join(ses.Append(ctx, entries...), ses.Close())
}

func (b *Backend) sessions() *session.Store {
	return session.OpenLogs(b.logs, filepath.Join(b.Dir, "sessions"))
}

// keepChange lets the next worker know what was changed.
func (b *Backend) keepChange(ctx context.Context, id string, r wire.Request) error {
	name, value := changed(r)
	if name == "" {
		return nil
	}
	run, err := b.runs.Update(ctx, id, func(run *runs.Run) error {
		switch name {
		case agent.StateMode:
			run.Mode = value
		case agent.StateModel:
			run.Model = value
		default:
			run.Title = value
		}
		return nil
	})
	if err == nil {
		b.noteRun(id, run)
	}
	return err
}

// Close implements [serve.Backend].
func (b *Backend) Close(ctx context.Context, id string) error {
	run, err := b.runs.Get(ctx, id)
	if err != nil || run.State != runs.Queued && run.State != runs.Running && run.State != runs.Asking {
		return refused(err)
	}
	if err := b.runs.Cancel(ctx, id); err != nil {
		return refused(err)
	}
	run, err = b.runs.Get(ctx, id)
	if err == nil {
		b.noteRun(id, run)
	}
	return refused(err)
}

// Delete implements [serve.Backend]. The run goes last, even if the client has gone: as long as it is
// there, what was cut off can be deleted again.
func (b *Backend) Delete(ctx context.Context, id string) error {
	if err := b.runs.Cancel(ctx, id); err != nil {
		return refused(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTime)
	defer cancel()
	if err := b.logs.Delete(ctx, id); err != nil {
		return err
	}
	if err := b.runs.Delete(ctx, id); err != nil {
		return refused(err)
	}
	b.noteRun(id, nil)
	return b.mirror.Forget(id)
}

// deleteTime is how long a server that is away is waited for while a session is deleted.
const deleteTime = 2 * time.Minute

// Fork implements [serve.Backend].
func (b *Backend) Fork(ctx context.Context, id, at string) (string, error) {
	run, err := b.runs.Get(ctx, id)
	if err != nil {
		return "", refused(err)
	}
	fork, err := b.sessions().Fork(ctx, id, at)
	if err != nil {
		return "", err
	}
	// The files of a run that is gone are removed unless a journal refers to them: that of the fork
	// was written before the run was gone, or the fork is not begun.
	now, err := b.runs.Get(ctx, id)
	if err == nil {
		err = archived(now)
	}
	if err != nil {
		return "", errors.Join(refused(err), b.logs.Delete(ctx, fork))
	}
	class := run.Class
	if run.Host != "" {
		class = runs.OnHost(run.Host) // nobody else has its files
	}
	made, err := b.runs.Begin(ctx, &runs.Submission{
		ID: fork, Class: class, Host: run.Host, Priority: run.Priority, Dir: run.Dir, Args: run.Args, Mode: run.Mode, Model: run.Model, Title: run.Title, Tags: run.Tags, Ask: run.Ask,
		Workspace: run.Workspace.Copy(),
	})
	if err != nil {
		return "", errors.Join(refused(err), b.logs.Delete(ctx, fork))
	}
	b.noteRun(fork, made)
	return fork, b.Refresh(ctx, fork)
}

// Rewind implements [serve.Backend]: the files are on the machines of workers.
func (b *Backend) Rewind(context.Context, string, string, *serve.Rewind) (serve.Rewound, error) {
	return serve.Rewound{}, serve.Refused(http.StatusConflict, "not_here", "Could not rewind: the session's files are on the fleet's machines, where rewinding is not supported yet. Fork the session to continue from an earlier message.")
}
