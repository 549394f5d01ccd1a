package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/tunnel"
	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/wire"
)

// Options say which fleet is served.
type Options struct {
	Conn   *engine.Conn
	Tenant string
	// Dir is for copies of journals.
	Dir string
	// Name is that of the server, for those who ask who has answered.
	Name string
	// Log is for operators; nil means nobody reads it.
	Log *slog.Logger
}

// A Backend is a fleet behind the API.
type Backend struct {
	Options
	runs   *runs.Runs
	logs   *journal.Logs
	mirror *journal.Mirror
	store  *session.Store // of what the mirror has

	mu        sync.Mutex
	known     map[string]*runs.Run
	questions map[string]*runs.Question // that are open
	grown     map[string]bool           // sessions whose copy is behind, or was never made
	watchers  map[*watcher]bool
}

var _ serve.Backend = (*Backend)(nil)

// Open returns the backend of a fleet, which knows its runs. It ends with ctx.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	b := &Backend{
		Options: *o, runs: runs.New(o.Conn, o.Tenant).As("the API of " + o.Name), logs: journal.New(o.Conn, o.Tenant, nil),
		known: map[string]*runs.Run{}, questions: map[string]*runs.Question{}, grown: map[string]bool{}, watchers: map[*watcher]bool{},
	}
	if b.Log == nil {
		b.Log = slog.New(slog.DiscardHandler)
	}
	b.mirror = b.logs.Mirror(filepath.Join(o.Dir, "journals"))
	b.store = b.mirror.Store()
	if err := b.hearJournals(ctx); err != nil {
		return nil, fmt.Errorf("could not watch the fleet: %w", err)
	}
	ready := make(chan struct{}, 2)
	tell := sync.OnceFunc(func() { ready <- struct{}{} })
	also := sync.OnceFunc(func() { ready <- struct{}{} })
	go b.keep(ctx, "runs", func() error { return b.runs.Watch(ctx, tell, b.noteRun) })
	go b.keep(ctx, "questions", func() error { return b.runs.WatchQuestions(ctx, also, b.noteQuestion) })
	for range 2 {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, fmt.Errorf("could not watch the fleet: %w", ctx.Err())
		}
	}
	return b, nil
}

// keep does again what ends when the engine is away.
func (b *Backend) keep(ctx context.Context, what string, do func() error) {
	for ctx.Err() == nil {
		err := do()
		if ctx.Err() == nil {
			b.Log.Warn("no longer watching the fleet; starting again", "what", what, "error", err)
		}
		_ = engine.Pause(ctx, time.Second)
	}
}

// hearJournals notes which journals grow. What is missed while the engine is away may be any.
func (b *Backend) hearJournals(ctx context.Context) error {
	sub, err := b.Conn.NATS.Subscribe("j.*."+b.Tenant+".*.*", func(m *nats.Msg) { b.changed(strings.Split(m.Subject, ".")[3]) })
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() }) // the connection may be gone
	return nil
}

// changed notes that something about a session is new.
func (b *Backend) changed(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if run := b.known[id]; run != nil && run.State != runs.Archived { // of others there is no copy to keep
		b.grown[id] = true
	}
	for w := range b.watchers {
		if w.id == id {
			w.Poke()
		}
	}
}

func (b *Backend) noteRun(id string, run *runs.Run) {
	b.mu.Lock()
	if run == nil {
		delete(b.known, id)
	} else if known := b.known[id]; known == nil || !known.After(run) { // what was asked for may come late
		b.known[id] = run
	}
	_, copied := b.grown[id]
	left := b.known[id] == nil || b.known[id].State == runs.Archived
	b.mu.Unlock()
	b.changed(id)
	if left && copied {
		go b.forget(id) // a copy that is being made may wait for the engine
	}
}

// forget removes the copy of a run that was deleted or archived. It is noted as missing after
// it was removed, so that a run of the same name is copied again.
func (b *Backend) forget(id string) {
	if err := b.mirror.Forget(id); err != nil {
		b.Log.Warn("could not remove the copy of a journal", "run", id, "error", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.grown, id)
}

// run returns what is known of a run.
func (b *Backend) run(ctx context.Context, id string) (*runs.Run, error) {
	b.mu.Lock()
	run := b.known[id]
	b.mu.Unlock()
	if run != nil {
		return run, nil
	}
	run, err := b.runs.Get(ctx, id) // it may have begun a moment ago
	if errors.Is(err, runs.ErrNotFound) {
		err = session.ErrNotFound
	}
	return run, err
}

// listTime is how long a list may take to copy journals.
const listTime = 300 * time.Millisecond

// List implements [serve.Backend]. Runs that were archived have left.
func (b *Backend) List(ctx context.Context, o *session.ListOptions) ([]session.Info, error) {
	b.mu.Lock()
	list := make([]*runs.Run, 0, len(b.known))
	for _, run := range b.known {
		if run.State != runs.Archived && (o.Cwd == "" || run.Dir == o.Cwd) {
			list = append(list, run)
		}
	}
	b.mu.Unlock()
	slices.SortFunc(list, func(a, b *runs.Run) int { return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID)) })
	if o.Limit > 0 && len(list) > o.Limit {
		list = list[:o.Limit]
	}
	end := time.Now().Add(listTime)
	infos := make([]session.Info, 0, len(list))
	for _, run := range list {
		if b.behind(run.ID) && time.Now().Before(end) {
			if err := b.Refresh(ctx, run.ID); err != nil {
				b.Log.Warn("could not copy a journal", "run", run.ID, "error", err)
			}
		}
		infos = append(infos, b.info(run))
	}
	return infos, nil
}

// behind reports whether the copy of a journal may be behind.
func (b *Backend) behind(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	grown, noted := b.grown[id]
	return grown || !noted
}

// info is what a list shows of a run.
func (b *Backend) info(run *runs.Run) session.Info {
	info, err := b.store.Info(run.ID)
	if err != nil {
		info = session.Info{ID: run.ID, Path: b.mirror.Path(run.ID), Modified: run.Updated}
	}
	info.Cwd, info.Created = run.Dir, run.Created
	info.Title, info.Prompt = cmp.Or(info.Title, run.Title), cmp.Or(info.Prompt, run.First)
	return info
}

// Info implements [serve.Backend]. Of a run that was archived, it says where it is.
func (b *Backend) Info(ctx context.Context, id string) (session.Info, error) {
	run, err := b.run(ctx, id)
	if err != nil {
		return session.Info{}, err
	}
	if err := archived(run); err != nil {
		return session.Info{}, err
	}
	return b.info(run), nil
}

// archived says where a run is that was archived; nil for others.
func archived(run *runs.Run) error {
	if run == nil || run.State != runs.Archived {
		return nil
	}
	return serve.Refused(http.StatusGone, "archived", fmt.Sprintf("The session was archived as %s (sha256:%s). 'haft-fleet runs ls --state archived' lists archived sessions.", run.Archive, run.Digest))
}

// Refresh implements [serve.Backend].
func (b *Backend) Refresh(ctx context.Context, id string) error {
	b.mu.Lock()
	if err := archived(b.known[id]); err != nil {
		b.mu.Unlock()
		return err
	}
	b.grown[id] = false // before, so that what comes meanwhile is noted
	b.mu.Unlock()
	err := b.mirror.Refresh(ctx, id)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.grown[id] = true
	}
	return err
}

// Status implements [serve.Backend].
func (b *Backend) Status(id, _ string) (s serve.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	run := b.known[id]
	if run == nil {
		return s
	}
	switch run.State {
	case runs.Queued, runs.Running, runs.Asking:
		s = serve.Status{Running: true, Led: true, Working: true}
	case runs.Quarantined:
		s.Failed = "quarantined: " + run.Reason
	}
	return s
}

// Dial implements [serve.Backend].
func (b *Backend) Dial(ctx context.Context, id, _ string) (*serve.Conn, error) {
	b.mu.Lock()
	run := b.known[id]
	b.mu.Unlock()
	if run == nil || run.Owner == "" {
		return nil, live.ErrNotRunning
	}
	ctx, cancel := engine.Attempt(ctx)
	defer cancel()
	conn, err := tunnel.Dial(ctx, b.Conn.NATS, b.runs.Live(id))
	if err != nil {
		return nil, live.ErrNotRunning
	}
	return &serve.Conn{Stream: news{wire.Lines(wire.NewReader(conn), wire.NewWriter(conn))}, Closer: conn, Led: true}, nil
}

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

// Outcome implements [serve.Backend].
func (b *Backend) Outcome(ctx context.Context, id, prompt string) (serve.Outcome, error) {
	if !engine.Word(prompt) {
		return serve.Outcome{}, serve.ErrNoPrompt
	}
	out, err := b.runs.Outcome(ctx, id, prompt)
	if err == nil {
		state, why := serve.OutcomeDone, ""
		if out.Reason == cancelled {
			state, why = serve.OutcomeCancelled, out.Text
		}
		return serve.Outcome{UUID: prompt, State: state, Reason: why, Result: resultOf(id, out)}, nil
	}
	if !errors.Is(err, runs.ErrPending) {
		return serve.Outcome{}, err
	}
	if sent, err := b.runs.Prompted(ctx, id, prompt); err != nil || !sent {
		return serve.Outcome{}, errors.Join(err, serve.ErrNoPrompt)
	}
	run, err := b.runs.Get(ctx, id)
	if err != nil {
		return serve.Outcome{}, refused(err)
	}
	if run.State == runs.Quarantined {
		return serve.Outcome{UUID: prompt, State: serve.OutcomeQuarantined, Reason: run.Reason}, nil
	}
	return serve.Outcome{UUID: prompt, State: serve.OutcomeWaiting}, nil
}

// Speak implements [serve.Backend]: a worker leads the conversation, and what it and the
// program say to each other is passed on as it is.
func (b *Backend) Speak(ctx context.Context, in *serve.Launching, conn io.ReadWriter) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	said, gone := readAhead(ctx, conn)
	worker, err := b.find(gone, in)
	if err != nil {
		serve.Lead(ctx, conn, func(io.Writer) (*headless.Options, error) { return nil, err })
		return
	}
	defer worker.Close()
	context.AfterFunc(ctx, func() { worker.Close() })
	go func() {
		defer worker.Close() // the program has gone, and does not end by itself
		_, _ = io.Copy(worker, said)
	}()
	last := &tail{Writer: conn}
	_, _ = io.Copy(last, worker)
	if !bytes.Contains(last.end, []byte(`"haft_exit"`)) {
		fmt.Fprintf(conn, "{\"type\":\"haft_stderr\",\"line\":%q}\n{\"type\":\"haft_exit\",\"code\":1}\n", "The worker that ran the conversation was lost. Resume the session to continue.")
	}
}

// find submits the conversation and waits for a worker that leads it.
func (b *Backend) find(ctx context.Context, in *serve.Launching) (net.Conn, error) {
	opts, err := launch.Program(in.Args, "fleet", io.Discard)
	if err != nil {
		return nil, err
	}
	id, err := b.which(ctx, in.Dir, opts)
	if err != nil {
		return nil, err
	}
	address := b.Conn.NATS.NewInbox()
	l, err := tunnel.Listen(b.Conn.NATS, address)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	context.AfterFunc(ctx, func() { l.Close() })
	if err := b.submit(ctx, &runs.Submission{ID: id, Dir: in.Dir, Prompt: runs.Prompt{Connect: address, Args: runs.FlagsFollow()}}); err != nil {
		return nil, err
	}
	conn, err := l.Accept()
	if err != nil {
		return nil, err
	}
	flags, err := json.Marshal(in.Args)
	if err == nil {
		_, err = conn.Write(append(flags, '\n'))
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// which is the run of a conversation: the one that is resumed, or a new one.
func (b *Backend) which(ctx context.Context, dir string, o *headless.Options) (string, error) {
	t := &o.Talk
	if t.Continue {
		list, err := b.List(ctx, &session.ListOptions{Cwd: dir, Limit: 1})
		if err != nil || len(list) == 0 {
			return "", errors.Join(err, fmt.Errorf("there is no session in %s to continue", dir))
		}
		if t.Fork {
			return "", errors.New("--continue cannot be used with --fork-session here: name the session with --resume instead")
		}
		return list[0].ID, nil
	}
	if t.Resume == "" || t.Fork {
		return cmp.Or(t.ID, session.NewUUID()), nil
	}
	if _, err := b.run(ctx, t.Resume); err != nil {
		return "", fmt.Errorf("could not resume session %s: %w", t.Resume, err)
	}
	return t.Resume, nil
}

// Watch implements [serve.Backend].
func (b *Backend) Watch(ctx context.Context, id string, o serve.Watcher) {
	w := &watcher{Watcher: o, id: id, ctx: ctx, asked: map[string]*asking{}}
	b.mu.Lock()
	b.watchers[w] = true
	for _, q := range b.questions {
		b.ask(w, q)
	}
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, w)
	})
	if err := b.runs.Outcomes(ctx, id, func(out *runs.Outcome) { b.tell(w, out) }); err != nil {
		b.Log.Warn("could not watch a run", "run", id, "error", err)
	}
}

// tell tells the result of a prompt, after what its turn has written.
func (b *Backend) tell(w *watcher, out *runs.Outcome) {
	m, err := wire.Decode(resultOf(w.id, out))
	if err != nil {
		return
	}
	b.awaitRest(w.ctx, w.id)
	if err := b.Refresh(w.ctx, w.id); err != nil {
		b.Log.Warn("could not copy a journal", "run", w.id, "error", err)
	}
	w.Tell(m)
}

// awaitRest waits until a run without prompts is known to rest, so that who hears its last
// result does not find it at work.
func (b *Backend) awaitRest(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	for {
		if pending, err := b.runs.Pending(ctx, id); err != nil || len(pending) > 0 || !b.Status(id, "").Working {
			return
		}
		if engine.Pause(ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

// noteQuestion takes a question, or that it is not open any more.
func (b *Backend) noteQuestion(id string, q *runs.Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q != nil && q.Answer == nil {
		b.questions[id] = q
		for w := range b.watchers {
			b.ask(w, q)
		}
		return
	}
	delete(b.questions, id)
	for w := range b.watchers {
		if a := w.asked[id]; a != nil {
			a.cancel()
			delete(w.asked, id)
		}
	}
}

// ask puts a question of the session to a watcher, once. The backend is locked.
func (b *Backend) ask(w *watcher, q *runs.Question) {
	if q.Run != w.id || w.asked[q.ID] != nil {
		return
	}
	ctx, cancel := context.WithCancel(w.ctx)
	this := &asking{cancel}
	w.asked[q.ID] = this
	go func() {
		defer b.ended(w, q.ID, this)
		r, err := b.request(ctx, q)
		if err != nil {
			b.Log.Warn("could not ask a question", "question", q.ID, "error", err)
			return
		}
		w.Ask(ctx, r, func(answer any) error { return b.answer(context.WithoutCancel(ctx), q, answer) })
	}()
}

// ended notes that a question is not put to a watcher any more. Another one of its name may be.
func (b *Backend) ended(w *watcher, id string, this *asking) {
	this.cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.asked[id] == this {
		delete(w.asked, id)
	}
}

// request is a question as the wire has it.
func (b *Backend) request(ctx context.Context, q *runs.Question) (wire.Request, error) {
	raw := q.Request
	if q.Blob != "" {
		var err error
		if raw, err = b.logs.Blobs().Get(ctx, q.Blob); err != nil {
			return nil, err
		}
	}
	if q.Kind == runs.Elicits {
		r := new(wire.Elicitation)
		_ = json.Unmarshal(raw, r) // a worker wrote it
		return r, nil
	}
	r := &wire.CanUseTool{ToolName: q.Tool, Title: q.Title, Input: q.Input}
	_ = json.Unmarshal(raw, r) // as above; one of an older worker has none
	return r, nil
}

// answer settles a question, if nobody has.
func (b *Backend) answer(ctx context.Context, q *runs.Question, answer any) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	a := runs.Answer{By: b.Name, Reply: raw}
	switch said := answer.(type) {
	case *wire.PermissionAnswer:
		a.Allow, a.Message, a.By = said.Behavior == wire.BehaviorAllow, said.Message, cmp.Or(said.By, b.Name)
	case *wire.ElicitationReply:
		a.Allow, a.By = said.Action == "accept", cmp.Or(said.By, b.Name)
	}
	if len(raw) > runs.MaxInline {
		if a.Reply, a.Blob = nil, blob.Digest(raw); len(a.Message) > runs.MaxInline {
			a.Message = "" // the reply has it
		}
		if err := b.logs.Blobs().Put(ctx, a.Blob, raw); err != nil {
			return err
		}
	}
	err = b.runs.Answer(ctx, q.ID, a)
	var late *runs.AnsweredError
	if errors.As(err, &late) {
		reply, err := late.Answer.JSON(ctx, b.logs.Blobs(), q.Kind)
		if err != nil {
			return err
		}
		return serve.Answered(late.Answer.By, reply)
	}
	return err
}

// news is what a worker says, without results: those come with the outcomes of prompts,
// which none misses.
type news struct{ wire.Stream }

// Read implements [wire.Stream].
func (n news) Read() (wire.Message, error) {
	for {
		m, err := n.Stream.Read()
		if _, ok := m.(*wire.Result); !ok || err != nil {
			return m, err
		}
	}
}

// refused is an error of the engine as the API tells it.
func refused(err error) error {
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return session.ErrNotFound
	case errors.Is(err, runs.ErrTooLarge):
		return serve.Refused(http.StatusRequestEntityTooLarge, "too_large", err.Error())
	case errors.Is(err, runs.ErrFull):
		return serve.Refused(http.StatusTooManyRequests, "too_many_sessions", err.Error())
	}
	return err
}
