package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/tunnel"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/serve"
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
