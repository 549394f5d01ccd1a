package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// Options say what a worker takes and how.
type Options struct {
	Conn   *engine.Conn
	Tenant string
	// Name is shown to operators.
	Name string
	// Slots is how many runs it leads at once; 0 means 4.
	Slots int
	// Classes are those of the runs that it takes; none means [runs.AnyWorker].
	Classes []string
	// Lease is how long a run is left to a worker that gives no sign of life; 0 means a
	// minute, which is longer than a cluster takes to choose a leader.
	Lease time.Duration
	// Drain is how long turns may take that run when the worker ends; 0 means a minute.
	Drain time.Duration
	// OneRun lets it end once it has led one run, so that no other run sees what that one left.
	OneRun bool
	// Attempts is how many workers may take a run without getting on; 0 means 5.
	Attempts int
	// Dir keeps what belongs to sessions on this machine.
	Dir string
	// Workspaces keeps the files of runs that come from repositories; "" means that the worker
	// cannot lead such runs.
	Workspaces string
	// Host is the machine, as the runs name it that work in its folders; several machines with
	// the same files may have the same name.
	Host string
	// ToolHost is where the tools of all runs work; nil means on this machine.
	ToolHost *toolhost.Host
	// Closed are files and folders that no run may open: keys, and what servers on this machine store.
	Closed []string
	// Reexec starts the supervisor of shell commands; see [shellrun.Supervise].
	Reexec shellrun.Reexec
	// Model answers; nil means the one that the environment describes.
	Model model.Model
	// Version is that of the program.
	Version string
	// Log is for operators; nil means nobody reads it.
	Log *slog.Logger
	// Metrics are counted for operators; nil means nobody reads them.
	Metrics *Metrics
}

// A worker leads runs.
type worker struct {
	Options
	runs *runs.Runs
	free chan struct{} // a token for each free slot
	// fleet names the fleet and tenant, among all that use folders of this machine.
	fleet  string
	denied []string // rules that close files to all runs
	// turns end with hard, which ends some time after the worker was told to.
	hard     context.Context
	draining atomic.Bool
}

// Run takes and leads runs until ctx ends.
func Run(ctx context.Context, o *Options) error {
	w := &worker{Options: *o, runs: runs.New(o.Conn, o.Tenant)}
	w.setDefaults()
	w.closeFiles()
	w.free = make(chan struct{}, w.Slots)
	for range w.Slots {
		w.free <- struct{}{}
	}
	var stop context.CancelCauseFunc
	w.hard, stop = context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	context.AfterFunc(ctx, func() {
		w.draining.Store(true)
		w.Metrics.draining.Set(1)
		time.AfterFunc(w.Drain, func() { stop(errDrained) })
	})
	queues, wake, err := w.queues(ctx)
	if err != nil {
		return err
	}
	if w.fleet, err = w.Conn.Fleet(ctx); err != nil {
		return err
	}
	// It is present while it drains, too, and says so.
	absent, err := w.runs.Present(w.Classes, w.status)
	if err != nil {
		return err
	}
	defer absent()
	go w.sweep(ctx)
	w.Log.Info("taking runs", "worker", w.Name, "slots", w.Slots, "classes", strings.Join(w.Classes, ","))
	var leading sync.WaitGroup
	w.take(ctx, queues, wake, &leading)
	w.Log.Info("taking no more runs", "worker", w.Name)
	leading.Wait()
	return nil
}

// queues returns the tasks that this worker takes, the most urgent first, and a channel that
// has something when there may be more of them.
func (w *worker) queues(ctx context.Context) (list []jetstream.Consumer, wake <-chan struct{}, err error) {
	signal := make(chan struct{}, 1)
	for _, priority := range engine.Lanes() {
		for _, class := range w.Classes {
			c, err := w.runs.Queue(ctx, class, priority, w.Lease)
			if _, refused := errors.AsType[*runs.RefusedError](err); refused && priority == engine.Later {
				continue // the server is older and has no such lane
			}
			if err != nil {
				return nil, nil, err
			}
			list = append(list, c)
			if _, err := w.Conn.NATS.Subscribe(runs.Tasks(class, priority), func(*nats.Msg) {
				select {
				case signal <- struct{}{}:
				default: // it is signalled already
				}
			}); err != nil {
				return nil, nil, err
			}
		}
	}
	return list, signal, nil
}

// status is how this worker is.
func (w *worker) status() *runs.WorkerStatus {
	return &runs.WorkerStatus{Worker: w.Name, Host: w.Host, Classes: w.Classes, Slots: w.Slots, Free: len(w.free), Draining: w.draining.Load()}
}

// errDrained ends turns that take too long when the worker ends.
var errDrained = errors.New("this worker is stopping; another one continues the run")

func (w *worker) setDefaults() {
	if w.Slots == 0 {
		w.Slots = 4
	}
	if w.OneRun {
		w.Slots = 1
	}
	if len(w.Classes) == 0 {
		w.Classes = []string{runs.AnyWorker}
	}
	if w.Lease == 0 {
		w.Lease = time.Minute
	}
	if w.Drain == 0 {
		w.Drain = time.Minute
	}
	if w.Attempts == 0 {
		w.Attempts = 5
	}
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	if w.Metrics == nil {
		w.Metrics = NewMetrics(nil)
	}
	w.Metrics.slots.Set(float64(w.Slots))
}

// take takes tasks while there are free slots, until ctx ends or, with OneRun, it has one.
func (w *worker) take(ctx context.Context, queues []jetstream.Consumer, wake <-chan struct{}, leading *sync.WaitGroup) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.free:
		}
		if m := w.next(ctx, queues); m != nil {
			leading.Go(func() {
				defer func() { w.free <- struct{}{} }()
				w.Metrics.leading.Inc()
				defer w.Metrics.leading.Dec()
				w.lead(ctx, m)
			})
			if w.OneRun {
				w.draining.Store(true)
				return
			}
			continue
		}
		w.free <- struct{}{}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-time.After(pollTime): // a task whose lease has ended makes no noise
		}
	}
}

// pollTime is how often tasks are looked for that other workers left.
const pollTime = 500 * time.Millisecond

// next returns the most urgent task, nil if there is none.
func (w *worker) next(ctx context.Context, queues []jetstream.Consumer) jetstream.Msg {
	for _, q := range queues {
		if ctx.Err() != nil {
			return nil
		}
		batch, err := q.FetchNoWait(1)
		if err != nil {
			w.Log.Debug("no tasks", "error", err)
			return nil // the server is away
		}
		for m := range batch.Messages() {
			return m
		}
	}
	return nil
}

// keepLease renews the lease of a task until the returned function is called.
func (w *worker) keepLease(m jetstream.Msg) (stop func()) {
	done := make(chan struct{})
	var once sync.Once
	go func() {
		tick := time.NewTicker(w.Lease / 4)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = m.InProgress() // without it the lease ends, and another worker tries
			case <-done:
				return
			}
		}
	}()
	return func() { once.Do(func() { close(done) }) }
}

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

// lead leads the run of a task until it has nothing more to do, or the worker ends.
func (w *worker) lead(ctx context.Context, m jetstream.Msg) {
	id := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	stop := w.keepLease(m)
	defer stop()
	log := w.Log.With("run", id)
	log.Debug("taken")
	began := time.Now()
	left, err := w.leadRun(ctx, id)
	w.Metrics.led(time.Since(began), left, err)
	stop()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	switch {
	case errors.Is(err, session.ErrFenced):
		log.Info("another worker has taken the run")
		w.yield(end, id)
		return // the other has the task
	case left:
		log.Info("returning the run to the queue", "error", err)
		_ = m.Nak() // or its lease ends
		return
	case err != nil:
		log.Error("could not execute the run", "error", err)
		wait, later := time.Second, new(laterError)
		if errors.As(err, &later) {
			wait = later.after
		}
		_ = m.NakWithDelay(wait)
		return
	}
	if err := m.DoubleAck(end); err != nil {
		return // the lease ends, and another worker finds nothing to do
	}
	// Who sent a prompt in the meantime found this task and made no other.
	if rest, err := w.runs.Pending(end, id); err == nil && len(rest) > 0 {
		if run, err := w.runs.Get(end, id); err == nil && run.Open() {
			_ = w.runs.Wake(end, run) // or the sweeper does
		}
	}
}

// patience is how long the engine is waited for at the end of a run.
const patience = 30 * time.Second

// leadRun leads a run. Left says that it has more to do and this worker ends.
//
// The journal is opened before the prompts are read: a prompt goes into the journal after the
// one before has its outcome, so what another worker does from here on is either known or
// makes the first entry of this one fail.
func (w *worker) leadRun(ctx context.Context, id string) (left bool, err error) {
	l := &leader{worker: w, run: &runs.Run{ID: id}}
	logs := journal.New(w.Conn, w.Tenant, func(e *journal.DamagedError) { l.damage.Store(e) })
	defer func() {
		if e := l.damage.Load(); e != nil {
			left, err = false, l.quarantine(e.Error())
		}
	}()
	if l.logs, err = logs.Hold(w.hard, id); err != nil {
		return false, err
	}
	_, pos := l.logs.Main()
	pending, err := w.runs.Pending(w.hard, id)
	if err != nil {
		return false, err
	}
	run, err := w.runs.Get(w.hard, id)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case !run.Open():
		return false, nil
	case len(pending) == 0:
		return false, w.runs.Rest(w.hard, run)
	}
	if away, err := w.elsewhere(run); away || err != nil {
		return false, err
	}
	if l.run, err = l.begin(pos); err != nil || l.run.State == runs.Quarantined {
		return false, err
	}
	if l.run.Ask {
		if err := w.runs.Withdraw(w.hard, id); err != nil {
			return false, err
		}
	}
	stop, err := l.hearDrops()
	if err != nil {
		return false, err
	}
	defer stop()
	if pending, err = l.wanted(pending); err != nil {
		return false, err
	}
	if l.fresh = pos == (session.Pos{}); !l.fresh && len(pending) > 0 {
		if pending, err = l.inspect(pending); err != nil {
			return false, err
		}
	}
	if err := l.prepare(); err != nil {
		return false, l.unprepared(pending, err)
	}
	defer func() {
		l.left = left
		if err != nil && l.files != nil && !left && !errors.Is(err, session.ErrFenced) {
			err = l.postpone(err, false)
		}
		l.leaveFiles(err)
	}()
	return l.turns(ctx, pending)
}

// yield takes this worker's name off a run that another one has continued meanwhile, whose
// name begin has replaced. The other one may have ended since: it left the run alone then,
// because it did not seem to lead it any more.
func (w *worker) yield(ctx context.Context, id string) {
	run, err := w.runs.Update(ctx, id, func(r *runs.Run) error {
		if r.Owner != w.Name {
			return runs.ErrUnchanged
		}
		r.Owner = ""
		return nil
	})
	if err != nil || run.Owner != "" {
		return // what is left undone, the sweeper does
	}
	if pending, err := w.runs.Pending(ctx, id); err == nil && len(pending) == 0 {
		_ = w.runs.Rest(ctx, run)
	}
}

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

// closeFiles denies all runs of this worker its keys and the stores of servers on this machine: who reads them could
// act as the worker, or read the journals of everybody. Rules of this kind hold in every mode, and for commands, too.
//
// On a machine that cannot keep commands from files, such a rule would let no command run. There the worker goes on and
// says so: what separates it from its runs is then what separates it from everything else, such as its container.
func (w *worker) closeFiles() {
	if len(w.Closed) == 0 {
		return
	}
	host := shellrun.NewHost(&shellrun.Options{Reexec: w.Reexec, NoProfile: true})
	defer host.Close()
	if !host.Holds() {
		w.Log.Warn("this machine has no sandbox that keeps commands from files: the commands of a run in bypassPermissions mode can read this worker's key", "files", w.Closed)
		return
	}
	for _, path := range w.Closed {
		w.denied = append(w.denied, denials(path)...)
	}
}
