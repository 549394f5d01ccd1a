package worker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/mcp/toolhost"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/shellrun"
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
	// Reexec starts the supervisor of shell commands; see [shellrun.Supervise].
	Reexec shellrun.Reexec
	// Model answers; nil means the one that the environment describes.
	Model model.Model
	// Version is that of the program.
	Version string
	// Log is for operators; nil means nobody reads it.
	Log *slog.Logger
}

// A worker leads runs.
type worker struct {
	Options
	runs *runs.Runs
	free chan struct{} // a token for each free slot
	// fleet names the fleet and tenant, among all that use folders of this machine.
	fleet string
	// turns end with hard, which ends some time after the worker was told to.
	hard context.Context
}

// Run takes and leads runs until ctx ends.
func Run(ctx context.Context, o *Options) error {
	w := &worker{Options: *o, runs: runs.New(o.Conn, o.Tenant)}
	w.setDefaults()
	w.free = make(chan struct{}, w.Slots)
	for range w.Slots {
		w.free <- struct{}{}
	}
	var stop context.CancelCauseFunc
	w.hard, stop = context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	context.AfterFunc(ctx, func() { time.AfterFunc(w.Drain, func() { stop(errDrained) }) })
	queues, wake, err := w.queues(ctx)
	if err != nil {
		return err
	}
	if w.fleet, err = w.Conn.Fleet(ctx); err != nil {
		return err
	}
	stops, err := w.present()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, stops)()
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
	for _, priority := range runs.Priorities() {
		for _, class := range w.Classes {
			c, err := w.Conn.Consumer(ctx, "class-"+class+"-"+priority, runs.Tasks(class, priority), w.Lease)
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

// present lets others find out which runs this worker takes, until stop is called.
func (w *worker) present() (stop func(), err error) {
	var stops []func()
	for _, class := range w.Classes {
		s, err := w.runs.Present(class, w.Name)
		if err != nil {
			return nil, err
		}
		stops = append(stops, s)
	}
	return func() {
		for _, s := range stops {
			s()
		}
	}, nil
}

// errDrained ends turns that take too long when the worker ends.
var errDrained = errors.New("this worker is stopping; another one continues the run")

func (w *worker) setDefaults() {
	if w.Slots == 0 {
		w.Slots = 4
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
}

// take takes tasks while there are free slots, until ctx ends.
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
				w.lead(ctx, m)
			})
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
