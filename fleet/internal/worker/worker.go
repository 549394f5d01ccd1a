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
	var taking, leading sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, class := range w.Classes {
		consumer, err := w.Conn.Consumer(ctx, class, w.Lease)
		if err != nil {
			return err
		}
		taking.Go(func() {
			if err := w.take(ctx, consumer, &leading); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	w.Log.Info("taking runs", "worker", w.Name, "slots", w.Slots, "classes", strings.Join(w.Classes, ","))
	taking.Wait()
	leading.Wait()
	return failed
}

// errDrained ends turns that take too long when the worker ends.
var errDrained = errors.New("the worker ends; another one continues")

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

// take takes tasks of a class while there are free slots.
func (w *worker) take(ctx context.Context, consumer jetstream.Consumer, leading *sync.WaitGroup) error {
	wait := 5 * time.Second
	if len(w.Classes) > 1 {
		wait = 300 * time.Millisecond // a slot that waits for one class is not there for another
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.free:
		}
		m, err := fetch(ctx, consumer, wait)
		if m == nil {
			w.free <- struct{}{}
			if err != nil && engine.Pause(ctx, 200*time.Millisecond) == nil {
				w.Log.Debug("no tasks", "error", err)
			}
			continue
		}
		leading.Go(func() {
			defer func() { w.free <- struct{}{} }()
			w.lead(ctx, m)
		})
	}
}

func fetch(ctx context.Context, consumer jetstream.Consumer, wait time.Duration) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	batch, err := consumer.Fetch(1, jetstream.FetchContext(ctx))
	if err != nil {
		return nil, err
	}
	for m := range batch.Messages() {
		return m, nil
	}
	if err := batch.Error(); !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return nil, nil
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
